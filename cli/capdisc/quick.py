"""A plain command line, read without typer, which takes half of a cold query's time to import.

Whatever is not plain (letters run together, an option twice, a value out of range, a word too many, a call for help)
is left to typer, which understands more and explains what is wrong. Both read the same declarations, and a test holds
the two readings against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from capdisc.declaring import Declared

_MAKE: dict[type, Callable[[str], Any]] = {str: str, int: int, float: float, Path: Path}


class _NotPlainError(ValueError):
    pass


class _Parameter(NamedTuple):
    name: str
    declared: Declared
    kind: type
    many: bool
    required: bool


def reading(command: Callable[..., int], words: Sequence[str]) -> dict[str, Any] | None:
    """What the words say of the command's parameters; None where typer is to be asked."""
    try:
        parameters = _parameters(command)
        given, loose = _sorted(words, {name: each for each in parameters for name in _names(each)})
        found = [(each, given[each.name]) for each in parameters if each.name in given]
        found += _placed([each for each in parameters if each.declared.names is None], loose)
        return {each.name: _value(each, texts) for each, texts in found}
    except ValueError:
        return None


def _sorted(words: Sequence[str], options: dict[str, _Parameter]) -> tuple[dict[str, list[str]], list[str]]:
    """The texts of each option by its parameter's name, and the words that belong to none."""
    given: dict[str, list[str]] = {}
    loose: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            continue
        name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        each = options.get(name)
        if each is None or (each.name in given and not each.many) or (equals and each.kind is bool):
            raise _NotPlainError
        if not equals and each.kind is not bool:
            text = _next(rest)
        given.setdefault(each.name, []).append(text)
    return given, loose


def _next(rest: Iterator[str]) -> str:
    text = next(rest, "--")
    if text.startswith("-") and text != "-":
        raise _NotPlainError
    return text


def _placed(parameters: Sequence[_Parameter], loose: Sequence[str]) -> list[tuple[_Parameter, list[str]]]:
    """The loose words as the positional arguments, in order; one that takes many must be the only one."""
    if len(parameters) == 1 and parameters[0].many:
        return [(parameters[0], list(loose))] if loose else []
    least = sum(each.required for each in parameters)
    if not least <= len(loose) <= len(parameters) or any(each.many for each in parameters):
        raise _NotPlainError
    return [(each, [word]) for each, word in zip(parameters, loose, strict=False)]


def _value(parameter: _Parameter, texts: Sequence[str]) -> Any:
    if parameter.kind is bool:
        return True
    made = [_made(parameter, text) for text in texts]
    return made if parameter.many else made[0]


def _made(parameter: _Parameter, text: str) -> Any:
    declared = parameter.declared
    value = (declared.parser or _MAKE[parameter.kind])(text)
    if declared.least is not None and not value >= declared.least:
        raise _NotPlainError
    if declared.most is not None and not value <= declared.most:
        raise _NotPlainError
    return declared.callback(value) if declared.callback else value


@cache
def _parameters(command: Callable[..., int]) -> list[_Parameter]:
    return list(_read_parameters(command))


def _read_parameters(command: Callable[..., int]) -> Iterator[_Parameter]:
    code, defaults = command.__code__, command.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    for place, name in enumerate(names):
        annotation = command.__annotations__[name]
        if isinstance(annotation, str):
            annotation = eval(annotation, command.__globals__)  # our own source: what typing would evaluate
        yield _parameter(name, annotation, place < len(names) - len(defaults))


def _parameter(name: str, annotation: Any, required: bool) -> _Parameter:
    kind = annotation.__origin__
    if isinstance(kind, UnionType):  # the other one is None
        kind = kind.__args__[0]
    many = getattr(kind, "__origin__", None) is list
    return _Parameter(name, annotation.__metadata__[0], kind.__args__[0] if many else kind, many, required)


def _names(parameter: _Parameter) -> tuple[str, ...]:
    """The words that stand for the option; none for a positional argument, nor for a pair of opposites."""
    names = parameter.declared.names
    if names and "/" in names[0]:
        return ()
    return names or (() if names is None else ("--" + parameter.name.replace("_", "-"),))
