"""Every command, named once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from capdisc.args.params import Param
from capdisc.context.signals import StopSignal
from capdisc.output import failures

# A plain command line, read without typer, which takes half of a cold query's time to import.
#
# Whatever is not plain (letters run together, an option twice, a value out of range, a word too
# many, a call for help) is left to typer, which understands more and explains what is wrong. Both
# read the same declarations, and a test holds the two readings against each other.

_CONVERTERS: dict[type, Callable[[str], Any]] = {str: str, int: int, float: float, Path: Path}


class _NotPlainError(ValueError):
    pass


class _Parameter(NamedTuple):
    name: str
    param: Param
    kind: type
    many: bool
    required: bool


def parse(command: Callable[..., int], words: Sequence[str]) -> dict[str, Any] | None:
    """What the words say of the command's parameters; None where typer is to be asked."""
    try:
        parameters = _list_parameters(command)
        option_texts, loose = _split_options(
            words,
            {name: parameter for parameter in parameters for name in _option_names(parameter)},
        )
        bound = [
            (parameter, option_texts[parameter.name])
            for parameter in parameters
            if parameter.name in option_texts
        ]
        bound += _bind_positionals(
            [parameter for parameter in parameters if parameter.param.names is None], loose
        )
        return {parameter.name: _convert_values(parameter, texts) for parameter, texts in bound}
    except ValueError:
        return None


def _split_options(
    words: Sequence[str], options: dict[str, _Parameter]
) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of each option by its parameter's name, and the words that belong to none."""
    option_texts: dict[str, list[str]] = {}
    loose: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            continue
        name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = options.get(name)
        if (
            parameter is None
            or (parameter.name in option_texts and not parameter.many)
            or (equals and parameter.kind is bool)
        ):
            raise _NotPlainError
        if not equals and parameter.kind is not bool:
            text = _next_value(remaining)
        option_texts.setdefault(parameter.name, []).append(text)
    return option_texts, loose


def _next_value(remaining: Iterator[str]) -> str:
    text = next(remaining, "--")
    if text.startswith("-") and text != "-":
        raise _NotPlainError
    return text


def _bind_positionals(
    parameters: Sequence[_Parameter], loose: Sequence[str]
) -> list[tuple[_Parameter, list[str]]]:
    """The loose words as the positional arguments, in order; one that takes many must be the only
    one.
    """
    if len(parameters) == 1 and parameters[0].many:
        return [(parameters[0], list(loose))] if loose else []
    required_count = sum(parameter.required for parameter in parameters)
    if not required_count <= len(loose) <= len(parameters) or any(
        parameter.many for parameter in parameters
    ):
        raise _NotPlainError
    return [(parameter, [word]) for parameter, word in zip(parameters, loose, strict=False)]


def _convert_values(parameter: _Parameter, texts: Sequence[str]) -> Any:
    if parameter.kind is bool:
        return True
    values = [_convert(parameter, text) for text in texts]
    return values if parameter.many else values[0]


def _convert(parameter: _Parameter, text: str) -> Any:
    param = parameter.param
    value = (param.parser or _CONVERTERS[parameter.kind])(text)
    if param.min is not None and not value >= param.min:
        raise _NotPlainError
    if param.max is not None and not value <= param.max:
        raise _NotPlainError
    return param.callback(value) if param.callback else value


@cache
def _list_parameters(command: Callable[..., int]) -> list[_Parameter]:
    return list(_read_parameters(command))


def _read_parameters(command: Callable[..., int]) -> Iterator[_Parameter]:
    code, defaults = command.__code__, command.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    for position, name in enumerate(names):
        annotation = command.__annotations__[name]
        if isinstance(annotation, str):
            annotation = eval(
                annotation, command.__globals__
            )  # our own source: what typing would evaluate
        yield _build_parameter(name, annotation, position < len(names) - len(defaults))


def _build_parameter(name: str, annotation: Any, required: bool) -> _Parameter:
    kind = annotation.__origin__
    if isinstance(kind, UnionType):  # the other one is None
        kind = kind.__args__[0]
    many = getattr(kind, "__origin__", None) is list
    return _Parameter(
        name, annotation.__metadata__[0], kind.__args__[0] if many else kind, many, required
    )


def _option_names(parameter: _Parameter) -> tuple[str, ...]:
    """The words that stand for the option; none for a positional argument, nor for a pair of
    opposites.
    """
    names = parameter.param.names
    if names and "/" in names[0]:
        return ()
    return names or (() if names is None else ("--" + parameter.name.replace("_", "-"),))


# Each command with what the overview says of it; its module is imported only when it is the one
# that runs.
COMMANDS = {
    "index": "Bring the index up to date with folders of capabilities.",
    "watch": "Keep the index up to date while files change.",
    "search": "Find the capabilities that fit a sentence.",
    "render": "Print a context for an agent, within a token budget.",
    "show": "Print a capability in full.",
    "list": "List the capabilities, or what each would cost.",
    "validate": "Check capability files.",
    "tools": "Print function definitions for a model to call.",
    "call": "Ask one discovery tool, as an agent would.",
    "session": "Keep what an agent found, used and met from turn to turn.",
    "graph": "Print how capabilities belong together.",
    "run": "Run a capability that says how, after asking.",
    "mcp": "Serve the discovery tools to an agent over MCP.",
    "serve": "Answer searches at once, from a warm process.",
    "status": "Say what the index holds and where it lies.",
    "doctor": "Say what is wrong with the index and what mends it.",
    "eval": "Measure how well the index answers judged queries.",
    "trust": "Allow what a workspace's file or an index from elsewhere may do.",
    "config": "Print every setting and where it comes from.",
    "init": "Start a capability folder here.",
    "new": "Write a capability to start from.",
}

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")  # what Python makes of bytes that are no UTF-8


def _load_command(name: str) -> Callable[..., int]:
    from importlib import import_module

    attribute = f"{name}_" if name in ("list", "eval") else name  # which Python has functions of
    command: Callable[..., int] = getattr(import_module(f"capdisc.commands.{name}"), attribute)
    return command


def run_command(argv: list[str], stop: StopSignal | None = None) -> int:
    """Run one command line and give its exit code. Nothing that goes wrong leaves as a traceback.

    With `stop`, whatever a signal made of the command is answered by that signal's exit code
    alone.
    """
    if argv[:1] and argv[0] not in (
        "index",
        "watch",
        "validate",
        "eval",
    ):  # which take paths of any bytes
        argv = [_LONE_SURROGATES.sub("\ufffd", word) for word in argv]
    named = argv[0] if argv[:1] and argv[0] in COMMANDS else None
    try:
        return int(_dispatch(argv, named))
    except BaseException as error:
        return stop.code if stop and stop.signal else failures.handle_error(error, named)


def _dispatch(argv: list[str], named: str | None) -> int:
    command = _load_command(named) if named else None
    if command and (options := parse(command, argv[1:])) is not None:
        return command(**options)
    from capdisc.args import typer_app

    return typer_app.run(argv or ["--help"], COMMANDS, command, named)
