"""Writes docs/commands.md from the declarations of the commands: `just docs` runs it.

Nothing in the page is typed by hand but the texts of this file, so the page cannot drift: a test
compares it with what this script would write.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from capdisc.args.command_line import CommandParameter, list_parameters, option_words
from capdisc.args.command_table import load_command, summarise_commands
from capdisc.args.params import VALUE_NAMES
from capdisc.commands.help import EXIT_CODE_MEANINGS
from capdisc_indexer.config.settings import ALIAS_VARIABLES, SETTINGS

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "commands.md"

HEADER = """# Commands

<!-- Written by `just docs` from the declarations of the commands. Do not edit by hand. -->

Results go to stdout and everything else (progress, notices, hints) to stderr. `--json` prints one
line in a pipe and indented text on a terminal. Options may stand before or after the arguments;
what follows `--` is never an option. `-h` or `--help` explains a command, `capdisc --version`
prints the version. `--no-pager` turns the pager off; [terminal.md](terminal.md) says when there is
one.
"""

# Variables that are no settings, because they are read before a configuration is.
OTHER_VARIABLES = {
    "CAPDISC_PAGER": "the pager of long results, before `PAGER`; `cat`: none",
    "CAPDISC_STATE_DIR": "folder of what cannot be rebuilt: trust, approvals, sessions, facts",
}


def is_positional(parameter: CommandParameter) -> bool:
    """Whether it is an argument rather than an option."""
    return parameter.param.names is None


def reference() -> str:
    """The whole page."""
    overview = [
        f"| [`{name}`](#capdisc-{name}) | {about} |"
        for name, about in summarise_commands().items()
    ]
    parts = [
        HEADER,
        "\n".join(["| command | what it does |", "|---|---|", *overview]) + "\n",
        *(_command_section(name) for name in summarise_commands()),
        _exit_codes_section(),
        _settings_section(),
    ]
    return "\n".join(parts)


def _command_section(name: str) -> str:
    function = load_command(name)
    parameters = list_parameters(function)
    usage = " ".join(["capdisc", name, *_usage_words(parameters)])
    lines = [f"## capdisc {name}\n", f"```text\n{usage}\n```\n"]
    lines += [f"{paragraph}\n" for paragraph in _paragraphs(function)]
    if arguments := [each for each in parameters if is_positional(each)]:
        rows = [f"| `{_cell(_metavar(each))}` | {_cell(each.param.help)} |" for each in arguments]
        lines += ["\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"]
    if options := [each for each in parameters if not is_positional(each)]:
        rows = [
            f"| {_option_cell(each)} | {_default_cell(each)} | {_meaning_cell(each)} |"
            for each in options
        ]
        lines += ["\n".join(["| option | default | meaning |", "|---|---|---|", *rows]) + "\n"]
    return "\n".join(lines)


def _usage_words(parameters: list[CommandParameter]) -> Iterator[str]:
    if any(not is_positional(parameter) for parameter in parameters):
        yield "[OPTIONS]"
    yield from (_metavar(parameter) for parameter in parameters if is_positional(parameter))


def _metavar(parameter: CommandParameter) -> str:
    plain = parameter.param.metavar or parameter.name.upper()
    if parameter.is_required or plain.startswith("["):
        return plain
    return f"[{plain}]" + ("..." if parameter.is_list and not plain.endswith("...") else "")


def _paragraphs(function: Callable[..., int]) -> Iterator[str]:
    """The paragraphs of the help, each on one line, examples as code."""
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        line = " ".join(paragraph.split())
        if line.startswith("Example: "):
            yield f"Example: `{line.removeprefix('Example: ')}`"
        else:
            # A text such as <!-- … --> would vanish from the page.
            yield re.sub(r"(?<!`)<!--.*?-->(?!`)", lambda match: f"`{match[0]}`", line)


def _option_cell(parameter: CommandParameter) -> str:
    words = ", ".join(option_words(parameter))
    if parameter.type is bool:
        return f"`{words}`"
    return f"`{words} {_cell(parameter.param.metavar or VALUE_NAMES[parameter.type])}`"


def _default_cell(parameter: CommandParameter) -> str:
    """The default; a setting stands in for it where the option says nothing."""
    if parameter.default is None:
        names = (parameter.name, f"validate.{parameter.name}")
        return "".join(f"setting `{name}`" for name in names if name in SETTINGS)
    if parameter.default in ("", False) and parameter.type in (str, bool):
        return ""
    return f"`{_cell(str(parameter.default))}`"


def _meaning_cell(parameter: CommandParameter) -> str:
    low, high = parameter.param.min, parameter.param.max
    limits = ""
    if low is not None:
        limits = f" At least {low}." if high is None else f" From {low} to {high}."
    return _cell(parameter.param.help) + limits


def _cell(text: str) -> str:
    """The text as it may stand in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _exit_codes_section() -> str:
    rows = [f"| {int(code)} | {EXIT_CODE_MEANINGS[code]} |" for code in sorted(EXIT_CODE_MEANINGS)]
    return (
        "## Exit status\n\n| code | meaning |\n|---|---|\n"
        + "\n".join(rows)
        + "\n\n`run` passes on the exit status of the tool that it ran.\n"
    )


def _settings_section() -> str:
    rows = [
        f"| `{name}` | {_setting_default(setting.default)} | `{setting.variable}` | {_cell(setting.about)} |"
        for name, setting in SETTINGS.items()
    ]
    others = [f"| `{name}` | {about} |" for name, about in OTHER_VARIABLES.items()]
    aliases = [
        f"| `{alias}` | the setting `{name}`, where `{SETTINGS[name].variable}` is not set |"
        for name, variables in ALIAS_VARIABLES.items()
        for alias in variables
    ]
    return (
        "## Settings\n\n"
        "An option of the command line wins over a variable of the environment, the variable over\n"
        "the file of the workspace, that file over the user's own, and the user's over the default.\n"
        "The file of a workspace is `capdisc.toml`, `.capdisc/config.toml`, or the table\n"
        "`[tool.capdisc]` of `pyproject.toml`. `capdisc config` prints every value and its origin.\n"
        "What the file of a workspace may not decide unasked is in [security.md](security.md).\n\n"
        "| setting | default | variable | meaning |\n|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\n| other variable | meaning |\n|---|---|\n"
        + "\n".join(others + aliases)
        + "\n"
    )


def _setting_default(default: Any) -> str:
    return (
        f"`{str(default).lower() if isinstance(default, bool) else default}`"
        if default not in ("", [])
        else ""
    )


def main() -> int:
    """Write the table of clients and the pages that list them, the page of commands, and the table
    of completion, which comes from the same declarations.
    """
    import client_table  # beside this script

    client_table.write_table()
    import completion_table

    completion_table.write_table()
    client_table.write_pages()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
