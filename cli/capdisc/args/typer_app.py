"""The typer application, imported only for help and for command lines that are not plain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Annotated, Any, cast, get_type_hints

import typer

from capdisc.args.params import BadValueError, Param
from capdisc.output import console
from capdisc_indexer import __version__
from capdisc_indexer.model.errors import UsageError

# What typer raises for a command line that it refuses: click's UsageError, by its public subclass.
# Until 0.25 typer imported click; since 0.26 it has a private copy, whose errors are other
# classes.
_REFUSAL: Any = typer.BadParameter.__base__


def run(
    argv: Sequence[str],
    commands: Mapping[str, str],
    command: Callable[..., int] | None,
    name: str | None,
) -> int:
    """Run a command line of `command`, whose name is `name`, and return its exit code; without a
    command, an overview of `commands`. Raises UsageError for what typer refuses.
    """
    try:
        app = _build_app(commands, command, name)
        return int(app(args=list(argv), prog_name="capdisc", standalone_mode=False) or 0)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _REFUSAL as error:
        # typer adds to the message the suggestion that click has made already.
        message = re.sub(
            r"( Did you mean [^?]*\?)(?:\1| \(Did you mean [^?]*\?\))",
            r"\1",
            error.format_message(),
        )
        raise UsageError(
            message, f"see: capdisc {name or ''} --help".replace("  ", " ")
        ) from error


def _build_app(
    commands: Mapping[str, str], command: Callable[..., int] | None, name: str | None
) -> typer.Typer:
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
            bool,
            typer.Option(
                "--version", callback=_print_version, is_eager=True, help="Print the version."
            ),
        ] = False,
    ) -> None:
        """Find the few capabilities an agent needs, and print them within a token budget."""

    if name and command:
        app.command(name)(annotate_command(command))
    else:
        for command_name, summary in commands.items():
            app.command(command_name, help=summary)(_overview)
    return app


def _print_version(is_requested: bool) -> None:
    if is_requested:
        console.print_result(f"capdisc {__version__}")
        raise typer.Exit


def _overview() -> int:
    raise UsageError("the command must come first", "see: capdisc --help")


def annotate_command(command: Callable[..., int]) -> Callable[..., int]:
    """A copy of the command with typer's declarations in place of ours."""
    code, name = cast(FunctionType, command).__code__, command.__name__
    twin = FunctionType(code, command.__globals__, name, command.__defaults__)
    twin.__doc__ = command.__doc__
    hints = get_type_hints(command, include_extras=True)
    twin.__annotations__ = {
        parameter_name: _typer_hint(hint) for parameter_name, hint in hints.items()
    }
    return twin


def _typer_hint(hint: Any) -> Any:
    declared = next(
        (
            annotation
            for annotation in getattr(hint, "__metadata__", ())
            if isinstance(annotation, Param)
        ),
        None,
    )
    return hint if declared is None else Annotated[hint.__origin__, _typer_parameter(declared)]


def _typer_parameter(declared: Param) -> Any:
    if declared.names is None:
        return typer.Argument(metavar=declared.metavar, help=declared.help)
    return typer.Option(
        *declared.names,
        help=declared.help,
        metavar=declared.metavar,
        min=declared.min,
        max=declared.max,
        parser=_typer_callback(declared.parser),
        callback=_typer_callback(declared.callback),
    )


def _typer_callback(check: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """The check, which raises typer's error in place of ours."""
    if check is None:
        return None

    def run_check(value: Any) -> Any:
        try:
            return check(value)
        except BadValueError as error:
            raise typer.BadParameter(str(error)) from error

    return run_check
