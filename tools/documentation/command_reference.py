"""Writes docs/commands.md from the declarations of the commands: `just docs` runs it.

Nothing in the page is typed by hand but the texts of this file, so the page cannot drift: a test
compares it with what this script would write.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from capdisc.args.command_line import VALUE_NAMES, CommandParameter, list_parameters, option_words
from capdisc.args.command_table import load_command, summarise_commands
from capdisc.commands.help import EXIT_CODE_MEANINGS
from capdisc_indexer.config.settings import SETTINGS

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "commands.md"

HEADER = """# Commands

<!-- Written by `just docs` from the declarations of the commands. Do not edit by hand. -->

Results go to stdout; progress, notices and hints go to stderr. Options may stand before or after
the arguments; what follows `--` is never an option. `-h` or `--help` explains a command and its
usual options, `--help --all` every option; both say more than this list. `capdisc --version` prints
the version. An option that has the name of a [setting](#settings) takes its default from it.
"""

# Variables that are no settings, because they are read before a configuration is.
OTHER_VARIABLES = {
    "CAPDISC_PAGER": "the pager of long results; none without it",
    "CAPDISC_STATE_DIR": "folder of what cannot be rebuilt: trust, approvals, sessions, facts",
}


def is_positional(parameter: CommandParameter) -> bool:
    """Whether it is an argument rather than an option."""
    return parameter.param.names is None


def reference() -> str:
    """The whole page."""
    overview = [f"[{name}](#capdisc-{name})" for name in summarise_commands()]
    shared = _shared_options()
    lines = "\n".join(sorted(shared.values()))
    parts = [
        HEADER,
        ",\n".join(overview) + "\n",
        f"## Shared options\n\nThey mean the same in every command that takes them.\n\n{lines}\n",
        *(_command_section(name, shared) for name in summarise_commands()),
        _exit_codes_section(),
        _settings_section(),
    ]
    return "\n".join(parts)


def _shared_options() -> dict[str, str]:
    """The line of each option that several commands share, by the line."""
    lines = Counter(
        _option_line(parameter)
        for name in summarise_commands()
        for parameter in list_parameters(load_command(name))
        if not is_positional(parameter)
    )
    return {line: line for line, count in lines.items() if count > 2}


def _command_section(name: str, shared: Mapping[str, str]) -> str:
    function = load_command(name)
    parameters = list_parameters(function)
    lines = [f"## capdisc {name}\n"]
    lines += [f"{paragraph}\n" for paragraph in _summary(function)]
    options = [each for each in parameters if not is_positional(each)]
    rows = [
        f"- `{_metavar(each)}`: {_escape(each.param.help)}"
        for each in parameters
        if is_positional(each) and each.param.help
    ]
    rows += [line for line in map(_option_line, options) if line not in shared]
    if rows:
        lines.append("\n".join(rows) + "\n")
    if others := [option_words(each)[0] for each in options if _option_line(each) in shared]:
        lines.append(f"Shared: `{' '.join(others)}`\n")
    return "\n".join(lines)


def _metavar(parameter: CommandParameter) -> str:
    plain = parameter.param.metavar or parameter.name.upper()
    if parameter.is_required or plain.startswith("["):
        return plain
    return f"[{plain}]" + ("..." if parameter.is_list and not plain.endswith("...") else "")


def _summary(function: Callable[..., int]) -> Iterator[str]:
    """The first paragraph of the help on one line, and its examples as code."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        line = " ".join(paragraph.split())
        if line.startswith("Example: "):
            yield f"Example: `{line.removeprefix('Example: ')}`"
        elif not number:
            yield line


def _option_line(parameter: CommandParameter) -> str:
    """The option with its value, what it means, and its limits and default."""
    words = ", ".join(option_words(parameter))
    if parameter.type is not bool:
        words += f" {parameter.param.metavar or VALUE_NAMES[parameter.type]}"
    remarks = [*_limits(parameter), *_default(parameter)]
    remark = f" ({', '.join(remarks)})" if remarks else ""
    return f"- `{words}`: {_escape(parameter.param.help)}{remark}"


def _limits(parameter: CommandParameter) -> Iterator[str]:
    low, high = parameter.param.min, parameter.param.max
    if high is not None:
        yield f"{low}–{high}"
    elif low:
        yield f"at least {low}"


def _default(parameter: CommandParameter) -> Iterator[str]:
    """The default; a setting stands in for it where the option says nothing."""
    if parameter.default is None:
        if (name := f"validate.{parameter.name}") in SETTINGS:
            yield f"setting `{name}`"
    elif parameter.default not in ("", False) and parameter.type is not bool:
        yield f"default {parameter.default}"


def _escape(text: str) -> str:
    """The text as Markdown shows it."""
    return text.replace("\n", " ").replace("<", "&lt;")


def _exit_codes_section() -> str:
    rows = [f"- {int(code)}: {EXIT_CODE_MEANINGS[code]}" for code in sorted(EXIT_CODE_MEANINGS)]
    return (
        "## Exit status\n\n"
        + "\n".join(rows)
        + "\n\n`run` passes on the exit status of the tool that it ran.\n"
    )


def _settings_section() -> str:
    rows = [
        f"- `{name}`{_setting_default(setting.default)}: {_escape(setting.about)}"
        for name, setting in SETTINGS.items()
    ]
    rows += [
        f"- `{setting.variable}`: the setting `{name}`"
        for name, setting in SETTINGS.items()
        if setting.own_variable
    ]
    rows += [f"- `{name}`: {about}" for name, about in OTHER_VARIABLES.items()]
    rows += [
        f"- `{alias}`: the setting `{name}`, unless `{setting.variable}` is set"
        for name, setting in SETTINGS.items()
        for alias in setting.aliases
    ]
    return (
        "## Settings\n\n"
        "The first of these that gives a value wins: the option, the environment variable\n"
        "(`CAPDISC_LIMIT` for `limit`, `CAPDISC_VALIDATE_PROFILE` for `validate.profile`), the file\n"
        "of the workspace (`capdisc.toml`, `.capdisc/config.toml`, or `[tool.capdisc]` in\n"
        "`pyproject.toml`), your own file, the default. `capdisc config` prints each value and its\n"
        "origin; [security.md](security.md) says what a workspace's file may not decide unasked.\n\n"
        + "\n".join(rows)
        + "\n"
    )


def _setting_default(default: Any) -> str:
    return (
        f" ({str(default).lower() if isinstance(default, bool) else default})"
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
