"""Declares the parameters of commands, as annotations, and reads plain command lines by them.

The parser here takes a millisecond; importing typer would take half of a cold query's time. What
is not plain (letters run together, an option twice, a value out of range, a word too many, a call
for help) is left to typer (`typer_app`), which understands more and explains what is wrong. A test
compares the two readings.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, TypeAlias

from capdisc.output import console
from capdisc_indexer.model.frozen import defaults, frozen

Command: TypeAlias = Callable[..., int]
# The values of parameters by name, of the types that their declarations make.
ArgumentValues: TypeAlias = dict[str, Any]

# Options that people know from other programs, with the name that they have here. They work where
# a command has that name and no option of its own with theirs, and help does not list them.
OPTION_ALIASES: Mapping[str, str] = MappingProxyType(
    {"-n": "-k", "--top-k": "--limit", "--max-results": "--limit"}
)
# The commands that take --quiet without a parameter for it: they only read, and their notices are
# no part of a question to a person, as those of `run` are.
_QUIET_COMMANDS = frozenset(
    ("search", "render", "show", "list", "tools", "call", "plan", "graph", "session", "status")
)
_QUIET_NAME = "quiet"

# What help calls the value of an option that has no name of its own for it.
VALUE_NAMES = {str: "TEXT", int: "N", float: "NUMBER", Path: "FILE"}
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}
_COUNT_UNITS = {"k": 1_000, "m": 1_000_000}


class BadValueError(ValueError):
    """An option does not take this value; the text says why."""


@frozen
class Param:
    """The declaration of one option, or with `names` None of one positional argument.

    `parser` makes a value of the typed word, `callback` may change or refuse a value; both raise
    BadValueError. `min` and `max` are the least and the greatest value. `choices` are all values
    that an option takes, except those of plug-ins, which `more_choices` loads. `panel` is the
    heading under which help shows it on a terminal.
    """

    names: tuple[str, ...] | None
    help: str = ""
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    parser: Callable[[str], Any] | None = None
    callback: Callable[[Any], Any] | None = None
    panel: str = ""
    choices: tuple[str, ...] = ()
    more_choices: Callable[[], Iterable[str]] = tuple


class _NotPlainError(ValueError):
    """The command line is left to typer."""


@frozen
class CommandParameter:
    """An option or argument of a command; `type` is that of one value, several of which make a
    list. `group` is the parameter of the command that takes it, together with others, where that
    is not the one of its own name.
    """

    name: str
    param: Param
    type: type
    is_list: bool
    is_required: bool
    default: Any = None
    group: str = ""


def option(
    *names: str,
    help: str = "",
    metavar: str | None = None,
    min: float | None = None,
    max: float | None = None,
    parser: Callable[[str], Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    panel: str = "",
    choices: tuple[str, ...] = (),
    more_choices: Callable[[], Iterable[str]] = tuple,
) -> Param:
    """The declaration of an option; without names, its name is that of the parameter."""
    metavar = metavar or "|".join(choices) or None
    return Param(names, help, metavar, min, max, parser, callback, panel, choices, more_choices)


def argument(help: str = "", metavar: str | None = None) -> Param:
    """The declaration of a positional argument."""
    return Param(None, help, metavar)


def parse_seconds(text: str) -> float:
    """The seconds in `2`, `2s`, `500ms` or `1m`. Raises BadValueError for another text."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s|m|)", text.strip())
    if not match:
        raise BadValueError(
            f"{text!r} is not a length of time: give seconds, such as 2, 2s, 500ms or 1m"
        )
    return float(match[1]) * _UNIT_SECONDS[match[2]]


def parse_count(text: str, low: float | None = None, high: float | None = None) -> int:
    """The number in `200`, `200k` or `1m`. Raises BadValueError for another text, and for a number
    out of the range.
    """
    if match := re.fullmatch(r"([+-]?\d{1,9})([km]?)", text.strip().lower()):
        number = int(match[1]) * _COUNT_UNITS.get(match[2], 1)
        if (low is None or number >= low) and (high is None or number <= high):
            return number
    limits = "" if low is None else f" of at least {low:g}"
    limits = limits if high is None else f" from {low or 0:g} to {high:g}"
    raise BadValueError(f"{text!r} is not a number{limits}")


def check_finite(number: float | None) -> float | None:
    """The number. Raises BadValueError for NaN, which no comparison with a range refuses."""
    if number is not None and math.isnan(number):
        raise BadValueError("the value must not be NaN")
    return number


def parse(command: Command, words: Sequence[str]) -> ArgumentValues | None:
    """The values of the command's parameters in a plain command line; None for any other."""
    try:
        parameters = list_parameters(command)
        option_texts, positionals = _split_options(
            words,
            {name: parameter for parameter in parameters for name in _option_names(parameter)},
        )
        bound = [
            (parameter, option_texts[parameter.name])
            for parameter in parameters
            if parameter.name in option_texts
        ]
        bound += _bind_positionals(
            [parameter for parameter in parameters if parameter.param.names is None], positionals
        )
        return {parameter.name: _convert_values(parameter, texts) for parameter, texts in bound}
    except ValueError:
        return None


def rename_options(command: Command, words: Sequence[str]) -> list[str]:
    """The words of the command line with the aliases of options replaced by their names."""
    if not any(word.startswith(alias) for word in words for alias in OPTION_ALIASES):
        return list(words)
    options = {
        name: parameter
        for parameter in list_parameters(command)
        for name in _option_names(parameter)
    }
    renamed: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            return [*renamed, word, *remaining]
        is_long = word.startswith("--")
        name, sign, value = word.partition("=") if is_long else (word[:2], "", word[2:])
        target = OPTION_ALIASES.get(name, name)
        if name not in options and target in options:
            name = target
        renamed.append(f"{name}{sign}{value}")
        if name in options and options[name].type is not bool and not (sign or value):
            renamed += [text for text in [next(remaining, None)] if text is not None]
    return renamed


def _split_options(
    words: Sequence[str], options: dict[str, CommandParameter]
) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of each option by the name of its parameter, and the positional words."""
    option_texts: dict[str, list[str]] = {}
    positionals: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "-" or not word.startswith("-"):
            positionals.append(word)
            continue
        name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        parameter = options.get(name)
        if (
            parameter is None
            or (parameter.name in option_texts and not parameter.is_list)
            or (equals and parameter.type is bool)
        ):
            raise _NotPlainError
        if not equals and parameter.type is not bool:
            text = _next_value(remaining)
        option_texts.setdefault(parameter.name, []).append(text)
    return option_texts, positionals


def _next_value(remaining: Iterator[str]) -> str:
    text = next(remaining, "--")
    if text.startswith("-") and text != "-":
        raise _NotPlainError
    return text


def _bind_positionals(
    parameters: Sequence[CommandParameter], words: Sequence[str]
) -> list[tuple[CommandParameter, list[str]]]:
    """The words as values of the positional arguments, in order. One that takes many words is the
    last. Raises _NotPlainError where one is missing, or a word is left over.
    """
    required_count = sum(parameter.is_required for parameter in parameters)
    bound = [(parameter, [word]) for parameter, word in zip(parameters, words, strict=False)]
    if len(words) > len(parameters) and bound and parameters[-1].is_list:
        bound[-1][1].extend(words[len(parameters) :])
    elif not required_count <= len(words) <= len(parameters):
        raise _NotPlainError
    return bound


def _convert_values(parameter: CommandParameter, texts: Sequence[str]) -> object:
    if parameter.type is bool:
        return True
    values = [_convert(parameter, text) for text in texts]
    return values if parameter.is_list else values[0]


def _convert(parameter: CommandParameter, text: str) -> Any:
    param = parameter.param
    convert = param.parser or (parse_count if parameter.type is int else parameter.type)
    value = convert(text)
    if param.min is not None and not value >= param.min:
        raise _NotPlainError
    if param.max is not None and not value <= param.max:
        raise _NotPlainError
    return param.callback(value) if param.callback else value


def call_command(command: Command, values: ArgumentValues) -> int:
    """Run the command with these values; the fields of a group become one value of its class.
    Returns the exit code.
    """
    arguments, groups = dict(values), dict[str, ArgumentValues]()
    if _is_quietable(command) and arguments.pop(_QUIET_NAME, False):
        console.silence_notices()
    for parameter in list_parameters(command):
        if parameter.group and parameter.name in arguments:
            fields_of_group = groups.setdefault(parameter.group, {})
            fields_of_group[parameter.name] = arguments.pop(parameter.name)
    for name, fields_of_group in groups.items():
        arguments[name] = _annotation(command, name)(**fields_of_group)
    return command(**arguments)


@cache
def list_parameters(command: Command) -> tuple[CommandParameter, ...]:
    """What the command takes, in the order of its declaration, with the fields of its groups, and
    last the option --quiet of commands that only read.
    """
    parameters = tuple(_read_parameters(command))
    if not _is_quietable(command):
        return parameters
    help_text = "Print no notices, only the result and errors."
    quiet = CommandParameter(
        name=_QUIET_NAME,
        param=option("--quiet", "-q", help=help_text, panel="Output"),
        type=bool,
        is_list=False,
        is_required=False,
        default=False,
    )
    return (*parameters, quiet)


def option_words(parameter: CommandParameter) -> list[str]:
    """The words that stand for the option, also the opposite one of a pair."""
    return [word for name in option_names(parameter) for word in name.split("/")]


def option_names(parameter: CommandParameter) -> tuple[str, ...]:
    """The names of the option as they are declared; without any, that of the parameter."""
    return parameter.param.names or ("--" + parameter.name.replace("_", "-"),)


def split_parameters(
    command: Command,
) -> tuple[list[CommandParameter], list[CommandParameter]]:
    """The positional arguments of the command, and its options."""
    parameters = list_parameters(command)
    return (
        [parameter for parameter in parameters if parameter.param.names is None],
        [parameter for parameter in parameters if parameter.param.names is not None],
    )


def _is_quietable(command: Command) -> bool:
    return command.__name__.rstrip("_") in _QUIET_COMMANDS


def _read_parameters(command: Command) -> Iterator[CommandParameter]:
    """The parameters of the command, from its code and annotations: `inspect` would cost more."""
    code, presets = command.__code__, command.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    required_count = len(names) - len(presets)
    for position, name in enumerate(names):
        annotation = _annotation(command, name)
        if isinstance(annotation, type):  # a group
            for field, default in defaults(annotation).items():
                hint = _evaluate(annotation.__annotations__[field], annotation.__module__)
                yield _build_parameter(field, hint, default=default, group=name)
        elif position < required_count:
            yield _build_parameter(name, annotation, is_required=True)
        else:
            yield _build_parameter(name, annotation, default=presets[position - required_count])


def _annotation(command: Command, name: str) -> Any:
    return _evaluate(command.__annotations__[name], command.__module__)


def _evaluate(annotation: Any, module: str) -> Any:
    """The annotation, which is a text of our own source; typing would evaluate it, too."""
    return (
        eval(annotation, vars(sys.modules[module])) if isinstance(annotation, str) else annotation
    )


def _build_parameter(
    name: str,
    annotation: Any,
    *,
    is_required: bool = False,
    default: Any = None,
    group: str = "",
) -> CommandParameter:
    declared_type = annotation.__origin__
    if isinstance(declared_type, UnionType):  # the other one is None
        declared_type = declared_type.__args__[0]
    is_list = getattr(declared_type, "__origin__", None) is list
    return CommandParameter(
        name=name,
        param=annotation.__metadata__[0],
        type=declared_type.__args__[0] if is_list else declared_type,
        is_list=is_list,
        is_required=is_required,
        default=default,
        group=group,
    )


def _option_names(parameter: CommandParameter) -> Iterator[str]:
    """The names that a plain command line may have; of a pair of opposites the first."""
    if parameter.param.names is not None:
        yield from (name.partition("/")[0] for name in option_names(parameter))
