"""capdisc help: what a command does, on the terminal or as a manual page."""

from __future__ import annotations

from typing import Annotated

from capdisc.args.params import argument
from capdisc.output.failures import ExitCode


def help_(
    command: Annotated[
        str | None, argument(metavar="[COMMAND]", help="The command; none: all of them.")
    ] = None,
) -> int:
    """Print what a command does, as COMMAND --help does; without one, an overview.

    Example: capdisc help search
    """
    from capdisc.args.command_table import run_command

    return ExitCode(run_command([command, "--help"] if command else ["--help"]))
