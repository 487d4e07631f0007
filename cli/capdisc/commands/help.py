"""capdisc help: what a command does, as its --help says it or as a manual page."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

from capdisc.args.params import argument, option
from capdisc.context import surroundings
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.serve.client import COMMAND_ALIASES


def help_(
    command: Annotated[
        str | None, argument(metavar="[COMMAND]", help="The command; without one, all of them.")
    ] = None,
    man: Annotated[
        bool,
        option("--man", help="Show the manual page; in a pipe, print its source for man -l -."),
    ] = False,
) -> int:
    """Print what a command does, as COMMAND --help does; without a command, an overview.

    Example: capdisc help search
    """
    from capdisc.args import command_table, man_pages

    name = COMMAND_ALIASES.get(command, command) if command else None
    if not man or (name and name not in command_table.COMMANDS):
        return command_table.run_command([name, "--help"] if name else ["--help"])
    page = man_pages.format_page(name)
    if surroundings.current_runtime().stdout_is_terminal and shutil.which("man"):
        with tempfile.TemporaryDirectory(prefix="capdisc-") as folder:
            path = Path(folder) / f"{man_pages.page_name(name)}.1"
            path.write_text(page, encoding="utf-8")
            subprocess.run(["man", str(path)], check=False)
    else:
        console.print_result(page)
    return ExitCode.OK
