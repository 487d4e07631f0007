"""capdisc help: what a command does, as its --help says it or as a manual page.

The pages are made from the declarations of the commands; `python -m capdisc.commands.help FOLDER`
(`just man`) writes all of them. The macros are those of man(7), which groff and mandoc read alike.
"""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from capdisc.args import command_table
from capdisc.args.command_line import (
    Command,
    CommandParameter,
    argument,
    option,
    option_words,
    split_parameters,
)
from capdisc.args.command_table import load_command, summarise_commands
from capdisc.args.help_panels import value_name
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc_indexer.config.settings import SETTINGS
from capdisc_indexer.model.version import __version__

EXIT_CODE_MEANINGS: Mapping[int, str] = MappingProxyType(
    {
        ExitCode.OK: "Success.",
        ExitCode.FINDINGS: "Nothing was found, or something is wrong with files.",
        ExitCode.USAGE: "The command line is wrong.",
        ExitCode.BAD_INPUT: "An input cannot be used: a file, a setting, an encoder.",
        ExitCode.INDEX: "There is no usable index, or the system refuses to read or write it.",
        ExitCode.REFUSED: "Refused: a link may not be followed, or nobody approved the call.",
        ExitCode.BUG: "A bug in capdisc; the message names a file with the traceback.",
        ExitCode.BUSY: "Another process is writing the index.",
        ExitCode.ENDED: "`run` ended the tool at a limit of time or output.",
        ExitCode.INTERRUPTED: "Interrupted (SIGINT).",
        # The shell's convention is 128 plus the number of the signal.
        129: "Ended by SIGHUP.",
        143: "Ended by SIGTERM.",
    }
)
_EXAMPLE = "Example: "
_ABOUT = "find the few capabilities that an agent needs, within a token budget"


def help_(
    command: Annotated[
        str | None, argument(metavar="[COMMAND]", help="The command; without one, all of them.")
    ] = None,
    man: Annotated[
        bool,
        option(help="Show the manual page; in a pipe, print its source for man -l -."),
    ] = False,
    all_: Annotated[
        bool, option("--all", help="With the commands and options that few people need.")
    ] = False,
) -> int:
    """Print what a command does, as COMMAND --help does; without a command, an overview.

    Example: capdisc help search
    """
    name = command_table.COMMAND_ALIASES.get(command, command) if command else None
    if not man or (name and name not in summarise_commands()):
        words = [name] if name else []
        return command_table.run_command([*words, "--help", *["--all"][:all_]])
    page = format_page(name)
    if surroundings.current_runtime().stdout_is_terminal and shutil.which("man"):
        with tempfile.TemporaryDirectory(prefix="capdisc-") as folder:
            path = Path(folder) / f"{page_name(name)}.1"
            path.write_text(page, encoding="utf-8")
            subprocess.run(["man", str(path)], check=False)
    else:
        console.print_result(page)
    return ExitCode.OK


def format_page(name: str | None) -> str:
    """The source of the page of a command, or of the overview of all."""
    lines = _overview_page() if name is None else _command_page(name)
    return "\n".join(lines) + "\n"


def write_pages(folder: Path) -> list[Path]:
    """Write all pages, capdisc.1 and capdisc-COMMAND.1, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in (None, *summarise_commands()):
        path = folder / f"{page_name(name)}.1"
        path.write_text(format_page(name), encoding="utf-8")
        paths.append(path)
    return paths


def page_name(name: str | None) -> str:
    """The name of the page: `capdisc-search`."""
    return f"capdisc-{name}" if name else "capdisc"


def _overview_page() -> Iterator[str]:
    yield from _head(None, _ABOUT)
    yield from (".SH SYNOPSIS", ".B capdisc", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from (".SH DESCRIPTION", _text("Results go to stdout, everything else to stderr."))
    yield _text("With --json, an error is a JSON document on stdout, too.")
    yield ".SH COMMANDS"
    for name, about in summarise_commands().items():
        yield from (".TP", rf"\fBcapdisc\-{_text(name)}\fR(1)", _text(about))
    yield ".SH ENVIRONMENT"
    yield _text("A variable wins over the file of the workspace, that over the user's own file.")
    for name, setting in SETTINGS.items():
        yield from (".TP", f".B {_text(setting.variable)}", _text(f"{name}: {setting.about}."))
    yield ".SH FILES"
    yield from (".TP", r".I ~/.config/capdisc/config.toml", "The settings of the user.")
    yield from (".TP", r".I capdisc.toml", "The settings of a workspace.")
    yield from _exit_status()


def _command_page(name: str) -> Iterator[str]:
    command = load_command(name)
    yield from _head(name, summarise_commands()[name].rstrip("."))
    positionals, options = split_parameters(command)
    usage = "".join(f" {_argument(parameter)}" for parameter in positionals)
    yield from (".SH SYNOPSIS", rf"\fBcapdisc {_text(name)}\fR [\fIOPTIONS\fR]{usage}")
    texts, examples = _split_help(command)
    yield ".SH DESCRIPTION"
    for number, text in enumerate(texts):
        yield from (".PP",) if number else ()
        yield _text(text)
    if positionals:
        yield ".SH ARGUMENTS"
        for parameter in positionals:
            yield from (".TP", _argument(parameter), _text(parameter.param.help))
    yield ".SH OPTIONS"
    for parameter in options:
        yield from (".TP", _option(parameter), _text(_meaning(parameter)))
    yield from (".TP", r"\fB\-h\fR, \fB\-\-help\fR", "Explain the command.")
    yield from (".SH EXAMPLES", ".EX", *map(_text, examples), ".EE")
    yield from _exit_status()
    yield from (".SH SEE ALSO", r"\fBcapdisc\fR(1)")


def _head(name: str | None, about: str) -> tuple[str, ...]:
    title = page_name(name)
    return (
        rf'.TH "{_text(title.upper())}" 1 "" "capdisc {_text(__version__)}" "capdisc"',
        ".SH NAME",
        rf"{_text(title)} \- {_text(about[0].lower() + about[1:])}",
    )


def _split_help(command: Command) -> tuple[list[str], list[str]]:
    """The paragraphs of the help, and its examples."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    lines = [" ".join(paragraph.split()) for paragraph in paragraphs]
    examples = [line.removeprefix(_EXAMPLE) for line in lines if line.startswith(_EXAMPLE)]
    return [line for line in lines if not line.startswith(_EXAMPLE)], examples


def _exit_status() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code in sorted(EXIT_CODE_MEANINGS):
        yield from (".TP", f".B {int(code)}", _text(EXIT_CODE_MEANINGS[code].replace("`", "")))


def _argument(parameter: CommandParameter) -> str:
    plain = (parameter.param.metavar or parameter.name.upper()).strip("[].")
    dots = " ..." if parameter.is_list else ""
    name = rf"\fI{_text(plain)}\fR{dots}"
    return name if parameter.is_required else f"[{name}]"


def _option(parameter: CommandParameter) -> str:
    names = ", ".join(rf"\fB{_text(word)}\fR" for word in option_words(parameter))
    if parameter.type is bool:
        return names
    return rf"{names} \fI{_text(value_name(parameter))}\fR"


def _meaning(parameter: CommandParameter) -> str:
    low, high = parameter.param.min, parameter.param.max
    if low is None:
        return parameter.param.help
    limits = f"At least {low:g}." if high is None else f"From {low:g} to {high:g}."
    return f"{parameter.param.help} {limits}"


def _text(text: str) -> str:
    """The text as roff reads it: no character of it steers."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("\n", " ")
    escaped = escaped.replace("'", r"\(aq").replace("`", r"\(ga").replace("^", r"\(ha")
    escaped = escaped.replace("~", r"\(ti").replace('"', r"\(dq")
    # groff reads bytes, whatever the locale says.
    ascii_text = "".join(
        character if character.isascii() else rf"\[u{ord(character):04X}]" for character in escaped
    )
    return rf"\&{ascii_text}" if ascii_text[:1] == "." else ascii_text


def main(arguments: Sequence[str]) -> int:
    """Write the pages into the folder that is named."""
    for path in write_pages(Path(arguments[0] if arguments else "build/man")):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
