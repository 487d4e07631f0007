"""The typer application, imported only for help and for command lines that are not plain."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter as SignatureParameter
from inspect import Signature
from types import MappingProxyType
from typing import Annotated, Any

import typer

from capdisc.args import help_panels
from capdisc.args.command_line import (
    VALUE_NAMES,
    BadValueError,
    CommandParameter,
    Param,
    call_command,
    list_parameters,
    option_names,
    parse_count,
)
from capdisc.output import console
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.version import __version__
from capdisc_indexer.plugins import registry
from capdisc_indexer.text.shell_quoting import join_words, quote_word

# What typer raises for a command line that it refuses: click's UsageError, by its public subclass.
# Until 0.25 typer imported click; since 0.26 it has a private copy, whose errors are other
# classes.
_REFUSAL: Any = typer.BadParameter.__base__
# What other programs take, by the option alone or behind the name of the command.
_FOREIGN_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "--format": "for JSON: --json",
        "-v": "the version: capdisc -V",
        "log --on": "capdisc config set log true",
        "log --off": "capdisc config set log false",
    }
)


def run(
    argv: Sequence[str],
    commands: Mapping[str, str],
    command: Callable[..., int] | None,
    name: str | None,
    seldom: Collection[str] = (),
) -> int:
    """Run a command line of `command`, whose name is `name`, and return its exit code. Its help
    leaves out the `seldom` used options. Raises UsageError for what typer refuses.
    """
    if command is None and not argv[0].startswith("-"):
        raise _unknown_command(argv[0], commands)
    try:
        app = _build_app(commands, command, name, seldom)
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
        message = _POSSIBLE_OPTIONS.sub(_name_nearest_option, message)
        help_command = f"see: capdisc {name or ''} --help".replace("  ", " ")
        foreign = _explain_foreign(message, name or "")
        if first := "" if command else next((word for word in argv if word in commands), ""):
            place = argv.index(first)
            message = "options stand behind the command"
            foreign = f"capdisc {join_words([*argv[place:], *argv[:place]])}"
        elif foreign:
            message = message.partition(". Did you mean")[0]
        hint = foreign or _explain_missing(message, command) + help_command
        raise UsageError(message, hint) from error


def _explain_foreign(message: str, name: str) -> str:
    """What to write here for an option or a word that the message refuses; "" for any other."""
    if name == "init" and "extra argument" in message:
        return "it writes into the current folder: cd there first"
    match = re.match(r"No such option: (\S+?)\.?( |$)", message)
    word = match[1] if match else ""
    return _FOREIGN_OPTIONS.get(f"{name} {word}") or _FOREIGN_OPTIONS.get(word, "")


def _explain_missing(message: str, command: Callable[..., int] | None) -> str:
    """What the argument is that the message says is missing: `KIND is skill or tool; `."""
    match = re.fullmatch(r"Missing argument '(\S+)'\.", message)
    parameters = list_parameters(command) if command and match else ()
    about = [
        parameter.param.help
        for parameter in parameters
        if match and (parameter.param.metavar or parameter.name.upper()) == match[1]
    ]
    return f"{match[1]}: {about[0].rstrip('.')}; " if match and about else ""


# typer's list of similar options, which is sorted by the alphabet.
_POSSIBLE_OPTIONS = re.compile(r"(No such option: )(\S+) \(Possible options: ([^)]*)\)")


def _name_nearest_option(match: re.Match[str]) -> str:
    from capdisc_indexer.text.similar_names import nearest_names

    beginning, typed, options = match[1], match[2], match[3].split(", ")
    completed = [option for option in options if option.startswith(typed)]
    nearest = (completed or nearest_names(typed, options) or options)[0]
    return f"{beginning}{typed}. Did you mean {nearest!r}?"


# Commands of other programs for what a command here does.
_FOREIGN_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "ask": "search", "query": "search", "discover": "search", "select": "search",
        "lint": "validate", "check": "validate", "fix": "validate", "format": "validate",
        "context": "render", "prompt": "render", "inject": "render", "print": "render",
        "get": "show", "cat": "show", "read": "show", "info": "show", "open": "show",
        "ls": "list", "all": "list", "cost": "list", "tokens": "list",
        "build": "index", "scan": "index", "update": "index", "sync": "index", "add": "index",
        "related": "graph", "deps": "graph", "exec": "run", "invoke": "run",
        "stats": "status", "settings": "config", "set": "config", "dirs": "config",
        "create": "new", "install": "setup", "uninstall": "setup", "server": "mcp",
        "daemon": "mcp", "diagnose": "doctor", "benchmark": "eval", "schema": "tools",
    }
)  # fmt: skip


def _unknown_command(word: str, commands: Mapping[str, str]) -> UsageError:
    """The error for an unknown command; a sentence is taken for a query."""
    if word == "serve":
        message = "the warm server is gone: each command answers by itself"
        return UsageError(message, "for a process that stays warm for an agent: capdisc mcp")
    from capdisc_indexer.text.similar_names import nearest_names

    if len(word.split()) > 1:
        return UsageError(
            f"no command was named before {word[:80]!r}", f"capdisc search {quote_word(word)}"
        )
    foreign = _FOREIGN_COMMANDS.get(word.lower())
    near = [foreign] if foreign else nearest_names(word, commands)
    problems = registry.describe_problems()
    end, hint = "" if problems else ".", f"to search for it: capdisc search {quote_word(word)}"
    if near:
        end, hint = f". Did you mean {', '.join(map(repr, near))}?", "see: capdisc --help"
    return UsageError(f"No such command {word[:80]!r}{end}{problems}", hint)


def _build_app(
    commands: Mapping[str, str],
    command: Callable[..., int] | None,
    name: str | None,
    seldom: Collection[str],
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
                "--version",
                "-V",
                callback=_print_version,
                is_eager=True,
                help="Print the version.",
            ),
        ] = False,
    ) -> None:
        """Find the few capabilities an agent needs, and print them within a token budget."""

    if name and command:
        epilog = help_panels.name_the_rest(name, seldom)
        app.command(name, epilog=epilog)(annotate_command(command, seldom))
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


def annotate_command(
    command: Callable[..., int], seldom: Collection[str] = ()
) -> Callable[..., int]:
    """A function that runs the command, with typer's declarations of its parameters, those that
    are `seldom` used without a line in the help.
    """

    def run_command(**values: Any) -> int:
        return call_command(command, values)

    parameters = [
        _declare_for_typer(parameter, parameter.name in seldom)
        for parameter in list_parameters(command)
    ]
    run_command.__name__, run_command.__doc__ = command.__name__, command.__doc__
    run_command.__annotations__ = {
        parameter.name: parameter.annotation for parameter in parameters
    }
    run_command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run_command


def _declare_for_typer(parameter: CommandParameter, is_hidden: bool) -> SignatureParameter:
    kind: Any = list[parameter.type] if parameter.is_list else parameter.type  # type: ignore[name-defined]
    if parameter.default is None and not parameter.is_required:
        kind = kind | None
    return SignatureParameter(
        parameter.name,
        SignatureParameter.KEYWORD_ONLY,
        default=SignatureParameter.empty if parameter.is_required else parameter.default,
        annotation=Annotated[kind, _typer_parameter(parameter, is_hidden)],
    )


def _typer_parameter(parameter: CommandParameter, is_hidden: bool) -> Any:
    declared = parameter.param
    if declared.names is None:
        return typer.Argument(metavar=declared.metavar, help=declared.help)
    return typer.Option(
        *option_names(parameter),
        help=declared.help,
        metavar="|".join(filter(None, (declared.metavar, *declared.more_choices())))
        or VALUE_NAMES.get(parameter.type),
        min=declared.min,
        max=declared.max,
        parser=_typer_callback(
            declared.parser or (_count_parser(declared) if parameter.type is int else None)
        ),
        callback=_typer_callback(declared.callback),
        hidden=is_hidden,
    )


def _count_parser(declared: Param) -> Callable[[Any], int]:
    return lambda value: parse_count(str(value), declared.min, declared.max)


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
