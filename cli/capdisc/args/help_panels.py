"""What does `--help` show on a terminal? The options in panels by topic, as wide as the screen.

Drawn from the declarations, without typer: its own panels give 80 columns to three columns of
which the last has 32, read our texts as markup, and take 0.25 s longer to import than these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from capdisc.args.command_line import VALUE_NAMES, CommandParameter, option_names, split_parameters
from capdisc.output import console, terminal
from capdisc.output.terminal import ColumnStyle, Line, Piece, Screen

# The headings of options, in this order. An option without one is under the first.
PANELS = (
    "Options",
    "Searching",
    "Filters",
    "Tools",
    "Triggers",
    "Budget",
    "Context",
    "Prompt",
    "Parts",
    "Links",
    "Edges",
    "Rules",
    "Fixes",
    "Explanations",
    "Session",
    "Output",
    "Index",
)
# A command with so few options has them under one heading.
_MAX_TOGETHER = 12
COMMAND_PANELS = {
    "Find": ("search", "render", "show", "list", "graph", "tools", "call", "plan"),
    "Index": ("index", "watch", "status", "doctor"),
    "Agents": ("setup", "hook", "learn", "mcp", "run", "session", "add", "remove"),
    "Check": ("validate", "audit", "eval", "log"),
    "Settings": ("config", "trust", "init", "new", "completion", "help"),
}
HELP_WORDS = ("--help", "-h")
ALL_WORD = "--all"
_MORE_COMMANDS = f"Others, such as hook, watch and tools: capdisc help {ALL_WORD}"
# The commands and options that people use every week. Help shows the others with --all.
MAIN_COMMANDS = (
    "search", "index", "show", "list", "render", "audit", "validate", "setup", "doctor", "mcp", "run",
    "config", "new", "help",
)  # fmt: skip
_MAIN_OPTIONS = {
    "index": "only forget rebuild verify ask_servers wait quiet verbose json",
    "search": "limit kind category tag max_risk available explain ids paths open json quiet",
    "render": "budget tier format json detail template append session into kind available quiet",
    "show": "links link section file network max_tokens paths open json quiet",
    "list": "kind category tag available risk cost shadowed categories ids paths json quiet",
    "validate": "user profile format ignore strict fix write every rule rules quiet json",
    "tools": "format names only limit kind tag available progressive defer hosted budget quiet",
    "call": "args batch envelope max_tokens format call_id yes trace session quiet",
    "audit": "window budget error thorough fix off undo yes html format json",
    "setup": "hook mcp scope gateway server approve move allow_run undo every yes json",
    "eval": "compare limit budget plot triggers since min_precision min_recall quiet json",
}
_MAX_OPTION_COLUMNS = 30


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether a command line calls for help, with an option of its own before any `--`."""
    end = words.index("--") if "--" in words else len(words)
    return any(word in words[:end] for word in HELP_WORDS)


def find_seldom_options(name: str, command: Callable[..., int]) -> set[str]:
    """The names of the parameters that the help of the command leaves out."""
    names = {parameter.name for parameter in split_parameters(command)[1]}
    return names.difference(_MAIN_OPTIONS[name].split()) if name in _MAIN_OPTIONS else set()


def name_the_rest(name: str, seldom: Collection[str]) -> str:
    """The line that says how to see the options that the help leaves out."""
    noun = "more option" if len(seldom) == 1 else "more options"
    return f"{len(seldom)} {noun}: capdisc {name} --help {ALL_WORD}" if seldom else ""


def print_command_help(
    screen: Screen, name: str, command: Callable[..., int], seldom: Collection[str]
) -> None:
    """Print the usage, the text and the options of one command without the `seldom` used ones."""
    import inspect  # 8 ms that an overview does not need

    arguments, options = split_parameters(command)
    options = [parameter for parameter in options if parameter.name not in seldom]
    words = [("Usage: ", "heading"), (f"capdisc {name}", "name")]
    words += [(" [OPTIONS]", "detail")] if options else []
    words += [(f" {_argument_name(parameter)}", "value") for parameter in arguments]
    terminal.print_paragraph(screen, words)
    for paragraph in inspect.cleandoc(command.__doc__ or "").split("\n\n"):
        console.print_result("\n")
        terminal.print_paragraph(screen, _format_paragraph(" ".join(paragraph.split())))
    console.print_result("\n")
    if arguments:
        rows = [
            ([(_argument_name(parameter), "value")], [(parameter.param.help, "")])
            for parameter in arguments
        ]
        _print_panel(screen, "Arguments", rows)
    for title, members in _group_options(options).items():
        _print_panel(screen, title, [_option_row(parameter) for parameter in members])
    if seldom:
        terminal.print_paragraph(screen, name_the_rest(name, seldom))


_PLAIN_COLUMNS = 78
_PLAIN_BEGINNING = """\
Usage: capdisc [OPTIONS] COMMAND [ARGS]...

  Find the few capabilities an agent needs, and print them within a token
  budget.

Options:
  -V, --version  Print the version.
  -h, --help     Show this message and exit.

Commands:
"""


def select_commands(commands: Mapping[str, str], shows_all: bool) -> Mapping[str, str]:
    """The commands of the overview: all, or those that people use."""
    return commands if shows_all else {name: commands[name] for name in MAIN_COMMANDS}


def print_plain_overview(commands: Mapping[str, str], shows_all: bool) -> None:
    """Print the commands without typer, whose import took 40 of the 75 ms."""
    hint = "" if shows_all else f"\n{_MORE_COMMANDS}\n"
    commands = select_commands(commands, shows_all)
    column = max(map(len, commands))
    room = _PLAIN_COLUMNS - 6 - column
    lines = (
        f"  {name:{column}}  {_shorten_summary(summary, room)}\n"
        for name, summary in commands.items()
    )
    console.print_result(_PLAIN_BEGINNING + "".join(lines) + hint)


def _shorten_summary(text: str, room: int) -> str:
    """The text, or as many of its words as fit before three dots."""
    words = text.split()
    while len(text) > room:
        words.pop()
        text = f"{' '.join(words)}..."
    return text


def print_overview(screen: Screen, commands: Mapping[str, str], shows_all: bool) -> None:
    """Print what capdisc is for, and its commands, all of them by topic."""
    usage = [("Usage: ", "heading"), ("capdisc", "name"), (" COMMAND [OPTIONS]", "detail")]
    terminal.print_paragraph(screen, usage)
    about = "Find the few capabilities an agent needs, and print them within a token budget."
    console.print_result("\n")
    terminal.print_paragraph(screen, about)
    console.print_result("\n")
    placed = {name for names in COMMAND_PANELS.values() for name in names}
    others = tuple(name for name in commands if name not in placed)
    panels = COMMAND_PANELS | {"Others": others} if shows_all else {"Commands": MAIN_COMMANDS}
    width = max(map(len, select_commands(commands, shows_all)))
    for title, names in panels.items():
        rows: list[tuple[list[Piece], Line]] = [
            ([(name.ljust(width), "option")], commands[name]) for name in names if name in commands
        ]
        if rows:
            _print_panel(screen, title, rows)
    if not shows_all:
        terminal.print_paragraph(screen, _MORE_COMMANDS)


def value_name(parameter: CommandParameter) -> str:
    """What help calls the value of an option."""
    return parameter.param.metavar or VALUE_NAMES.get(parameter.type, "")


def _print_panel(screen: Screen, title: str, rows: Sequence[tuple[Sequence[Piece], Line]]) -> None:
    widest = max(sum(len(text) for text, _ in name) for name, _ in rows)
    columns = (
        ColumnStyle(wrapped=True, max_width=min(widest, _MAX_OPTION_COLUMNS)),
        ColumnStyle(wrapped=True, flexible=True),
    )
    terminal.print_panel(screen, title, columns, rows)


def _group_options(options: Sequence[CommandParameter]) -> dict[str, list[CommandParameter]]:
    """The options by heading, headings in their order."""
    if len(options) <= _MAX_TOGETHER:
        return {PANELS[0]: list(options)} if options else {}
    titles = {title: list[CommandParameter]() for title in PANELS}
    for parameter in options:
        titles.setdefault(parameter.param.panel or PANELS[0], []).append(parameter)
    return {title: members for title, members in titles.items() if members}


def _option_row(parameter: CommandParameter) -> tuple[list[Piece], list[Piece]]:
    param = parameter.param
    label: list[Piece] = [(", ".join(sorted(option_names(parameter), key=len)), "option")]
    about: list[Piece] = [(param.help, "")]
    if param.choices:
        about.append(
            (" " * bool(param.help) + "|".join((*param.choices, *param.more_choices())), "value")
        )
    elif parameter.type is not bool:
        label.append((f" {value_name(parameter)}", "value"))
    about += [(text, "detail") for text in _remarks(parameter)]
    return label, about


def _remarks(parameter: CommandParameter) -> list[str]:
    """The range and the default of an option, where it has one."""
    low, high = parameter.param.min, parameter.param.max
    remarks = []
    if high is not None:
        remarks.append(f" [{low or 0:g}..{high:g}]")
    elif low is not None and low > 1:
        remarks.append(f" [at least {low:g}]")
    if parameter.default not in (None, "", False):
        remarks.append(f" [default: {parameter.default}]")
    return remarks


def _argument_name(parameter: CommandParameter) -> str:
    plain = parameter.param.metavar or parameter.name.upper()
    return plain if parameter.is_required or plain.startswith("[") else f"[{plain}]"


def _format_paragraph(paragraph: str) -> list[Piece]:
    if paragraph.startswith("Example: "):
        return [("Example: ", "heading"), (paragraph.removeprefix("Example: "), "option")]
    return [(paragraph, "")]
