"""Every command, named once; errors become messages and exit codes here and nowhere else."""

from __future__ import annotations

import os
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
    DamagedIndexError,
    EncoderError,
    IndexStateError,
    InputError,
    UsageError,
)

COMMANDS = ("index", "search", "render", "show", "list", "validate", "status", "config", "init", "new")
_EXIT: dict[type[CapdiscError], ExitCode] = {
    UsageError: ExitCode.USAGE,
    InputError: ExitCode.BAD_INPUT,
    EncoderError: ExitCode.BAD_INPUT,
    IndexStateError: ExitCode.INDEX,
    DamagedIndexError: ExitCode.INDEX,
    BusyError: ExitCode.BUSY,
}


def _version(wanted: bool) -> None:
    if wanted:
        output.result(f"capdisc {__version__}")
        raise typer.Exit


def make(names: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """The application with these commands; their modules are imported now, and no others."""
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

    for name in names:
        app.command(name)(_command(name))
    return app


def _command(name: str) -> Callable[..., int]:
    from importlib import import_module

    command: Callable[..., int] = getattr(
        import_module(f"capdisc.commands.{name}"), "list_" if name == "list" else name
    )
    return command


def run(argv: list[str]) -> int:
    """Run one command line and give its exit code. Nothing that goes wrong leaves as a traceback."""
    if argv[:1] and argv[0] not in ("index", "validate"):  # which take paths, whose bytes may be anything
        argv = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in argv]
    named = tuple(word for word in argv[:1] if word in COMMANDS)
    try:
        code = make(named or COMMANDS)(args=argv or ["--help"], prog_name="capdisc", standalone_mode=False)
        return int(code or ExitCode.OK)
    except BaseException as error:
        return _failed(error, named)


def _failed(error: BaseException, named: tuple[str, ...]) -> int:
    """The exit code of what went wrong, after saying it."""
    match error:
        case SystemExit():
            raise error
        case CapdiscError():
            output.error(error)
            return _EXIT.get(type(error), ExitCode.BUG)
        case click.ClickException():
            output.error(UsageError(error.format_message(), f"see: capdisc {' '.join([*named, '--help'])}"))
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
