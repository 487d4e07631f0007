"""Every command, named once; errors become messages and exit codes here and nowhere else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Annotated

import click
import typer

from capdisc import output
from capdisc.exit_codes import ExitCode
from capdisc_indexer import __version__
from capdisc_indexer.errors import (
    BusyError,
    CapdiscError,
    EncoderError,
    IndexStateError,
    InputError,
    UsageError,
)

# Each command with what the overview says of it; its module is imported only when it is the one that runs.
COMMANDS = {
    "index": "Bring the index up to date with folders of capabilities.",
    "search": "Find the capabilities that fit a sentence.",
    "render": "Print a context for an agent, within a token budget.",
    "show": "Print a capability in full.",
    "list": "List the capabilities, or what each would cost.",
    "validate": "Check capability files.",
    "status": "Say what the index holds and where it lies.",
    "eval": "Measure how well the index answers judged queries.",
    "config": "Print every setting and where it comes from.",
    "init": "Start a capability folder here.",
    "new": "Write a capability to start from.",
}
_EXIT: dict[type[CapdiscError], ExitCode] = {
    UsageError: ExitCode.USAGE,
    InputError: ExitCode.BAD_INPUT,
    EncoderError: ExitCode.BAD_INPUT,
    IndexStateError: ExitCode.INDEX,
    BusyError: ExitCode.BUSY,
}


def _version(wanted: bool) -> None:
    if wanted:
        output.result(f"capdisc {__version__}")
        raise typer.Exit


def make(name: str | None) -> typer.Typer:
    """The application with this command; without one, with an overview of all, none of which runs."""
    app = typer.Typer(
        name="capdisc",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def main(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Find the few capabilities an agent needs, and print them within a token budget."""

    if name:
        app.command(name)(_command(name))
    else:
        for each, summary in COMMANDS.items():
            app.command(each, help=summary)(_overview)
    return app


def _overview() -> int:
    raise UsageError("the command must come first", "see: capdisc --help")


def _command(name: str) -> Callable[..., int]:
    from importlib import import_module

    attribute = f"{name}_" if name in ("list", "eval") else name  # which Python has functions of
    command: Callable[..., int] = getattr(import_module(f"capdisc.commands.{name}"), attribute)
    return command


def run(argv: list[str]) -> int:
    """Run one command line and give its exit code. Nothing that goes wrong leaves as a traceback."""
    if argv[:1] and argv[0] not in ("index", "validate", "eval"):  # which take paths, whose bytes may be anything
        argv = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in argv]
    named = argv[0] if argv[:1] and argv[0] in COMMANDS else None
    try:
        code = make(named)(args=argv or ["--help"], prog_name="capdisc", standalone_mode=False)
        return int(code or ExitCode.OK)
    except BaseException as error:
        return _failed(error, named)


def _failed(error: BaseException, named: str | None) -> int:
    """The exit code of what went wrong, after saying it."""
    match error:
        case SystemExit():
            raise error
        case CapdiscError():
            output.error(error)
            return next((code for kind, code in _EXIT.items() if isinstance(error, kind)), ExitCode.BUG)
        case click.ClickException():
            # typer adds to the message what click has said already.
            message = re.sub(r"( Did you mean [^?]*\?)\1", r"\1", error.format_message())
            output.error(UsageError(message, f"see: capdisc {named or ''} --help".replace("  ", " ")))
            return ExitCode.USAGE
        case KeyboardInterrupt() | click.Abort():
            output.notice("interrupted")
            return ExitCode.INTERRUPTED
        case output.ReaderGoneError():
            # What is still buffered must not be written at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ExitCode.OK
        case OSError():
            where = f": {error.filename}" if error.filename else ""
            output.error(IndexStateError(f"{error.strerror or error}{where}", "check the disk and its permissions"))
            return ExitCode.INDEX
        case _:
            return _bug(error)


def _bug(error: BaseException) -> int:
    """Write the traceback where a report can quote it, and say so in one line."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="capdisc-crash-", suffix=".log", delete=False) as log:
        log.write(f"capdisc {__version__}, Python {sys.version}\n{' '.join(sys.argv[1:2])}\n")
        traceback.print_exception(error, file=log)
    output.error(
        CapdiscError(f"this is a bug in capdisc ({type(error).__name__})", f"please report it with {log.name}")
    )
    return ExitCode.BUG
