"""The typer application: help, and command lines that are not plain. Imported only for those."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Annotated, Any, cast, get_type_hints

import click
import typer

from capdisc import output
from capdisc.declaring import BadValueError, Declared
from capdisc_indexer import __version__
from capdisc_indexer.errors import UsageError


def run(argv: Sequence[str], commands: Mapping[str, str], command: Callable[..., int] | None, name: str | None) -> int:
    """The exit code of a command line; `command` is the one of that name, and without it there is an overview of all.

    Raises UsageError for what typer refuses.
    """
    try:
        app = _application(commands, command, name)
        return int(app(args=list(argv), prog_name="capdisc", standalone_mode=False) or 0)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        # typer adds to the message what click has said already.
        message = re.sub(r"( Did you mean [^?]*\?)(?:\1| \(Did you mean [^?]*\?\))", r"\1", error.format_message())
        raise UsageError(message, f"see: capdisc {name or ''} --help".replace("  ", " ")) from error


def _application(commands: Mapping[str, str], command: Callable[..., int] | None, name: str | None) -> typer.Typer:
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

    if name and command:
        app.command(name)(annotated(command))
    else:
        for each, summary in commands.items():
            app.command(each, help=summary)(_overview)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        output.result(f"capdisc {__version__}")
        raise typer.Exit


def _overview() -> int:
    raise UsageError("the command must come first", "see: capdisc --help")


def annotated(command: Callable[..., int]) -> Callable[..., int]:
    """The command with its declarations turned into typer's; the command itself stays as it is."""
    code, name = cast(FunctionType, command).__code__, command.__name__
    twin = FunctionType(code, command.__globals__, name, command.__defaults__)
    twin.__doc__ = command.__doc__
    hints = get_type_hints(command, include_extras=True)
    twin.__annotations__ = {each: _typers(hint) for each, hint in hints.items()}
    return twin


def _typers(hint: Any) -> Any:
    declared = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Declared)), None)
    return hint if declared is None else Annotated[hint.__origin__, _of(declared)]


def _of(declared: Declared) -> Any:
    if declared.names is None:
        return typer.Argument(metavar=declared.metavar, help=declared.help)
    return typer.Option(
        *declared.names,
        help=declared.help,
        metavar=declared.metavar,
        min=declared.least,
        max=declared.most,
        parser=_checked(declared.parser),
        callback=_checked(declared.callback),
    )


def _checked(check: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """The check with its refusals in typer's words."""
    if check is None:
        return None

    def checked(value: Any) -> Any:
        try:
            return check(value)
        except BadValueError as error:
            raise typer.BadParameter(str(error)) from error

    return checked
