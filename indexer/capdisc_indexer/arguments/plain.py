"""Keywords about one value by itself: its type, its size, what it is one of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.arguments.walk import Keyword, Walk, listed, place
from capdisc_indexer.text import one_line

SHOWN_CHOICES = 12


def is_number(value: Any) -> bool:
    """Whether it is a JSON number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, Mapping),
}


def kind(value: Any) -> str:
    """What the value is, with its article.

    >>> kind(3), kind("3"), kind(None)
    ('an integer', 'a string', 'null')
    """
    name = next((name for name in ("integer", *TYPES) if TYPES[name](value)), "something else")
    return name if name in ("null", "something else") else f"{'an' if name[0] in 'aio' else 'a'} {name}"


def key(value: Any) -> str:
    """The value as text that is the same for equal JSON values: 1 is 1.0, and is not true."""
    return json.dumps(_whole(value), sort_keys=True, ensure_ascii=False)


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _type(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    names = [name for name in (listed(wanted) or [wanted]) if isinstance(name, str) and name in TYPES]
    if not names or any(TYPES[name](value) for name in names):
        return []
    return [f"{place(at)}: must be {' or '.join(names)}, not {kind(value)}"]


def _enum(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    choices = listed(wanted)
    if not choices or key(value) in {key(choice) for choice in choices}:
        return []
    shown = ", ".join(one_line(_shown(choice), 60) for choice in choices[:SHOWN_CHOICES])
    return [f"{place(at)}: must be one of {shown}{', …' if len(choices) > SHOWN_CHOICES else ''}"]


def _const(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    return [] if key(value) == key(wanted) else [f"{place(at)}: must be {one_line(_shown(wanted), 60)}"]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bound(words: str, exceeds: Callable[[Any, Any, Mapping[str, Any]], bool]) -> Keyword:
    def check(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
        wrong = is_number(wanted) and is_number(value) and exceeds(value, wanted, schema)
        return [f"{place(at)}: must be {words} {wanted}"] if wrong else []

    return check


def _length(words: str, exceeds: Callable[[int, Any], bool]) -> Keyword:
    def check(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
        wrong = is_number(wanted) and isinstance(value, str) and exceeds(len(value), wanted)
        return [f"{place(at)}: must have {words} {wanted} characters"] if wrong else []

    return check


def _is_multiple(value: Any, wanted: Any) -> bool:
    """By the digits as written: 0.3 is a multiple of 0.1 to a person."""
    from fractions import Fraction

    return wanted <= 0 or Fraction(str(value)) % Fraction(str(wanted)) == 0


def _pattern(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    fits = not isinstance(value, str) or walk.matches(wanted, value)
    return [] if fits else [f"{place(at)}: must match the pattern {one_line(wanted, 80)}"]


KEYWORDS: Mapping[str, Keyword] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    # In draft 4 `exclusiveMinimum` was a truth value beside the bound.
    "minimum": _bound(
        "at least", lambda value, least, schema: value < least or (value == least and _excludes(schema, "Minimum"))
    ),
    "maximum": _bound(
        "at most", lambda value, most, schema: value > most or (value == most and _excludes(schema, "Maximum"))
    ),
    "exclusiveMinimum": _bound("more than", lambda value, least, schema: value <= least),
    "exclusiveMaximum": _bound("less than", lambda value, most, schema: value >= most),
    "multipleOf": _bound("a multiple of", lambda value, one, schema: not _is_multiple(value, one)),
    "minLength": _length("at least", lambda length, least: length < least),
    "maxLength": _length("at most", lambda length, most: length > most),
    "pattern": _pattern,
}


def _excludes(schema: Mapping[str, Any], bound: str) -> bool:
    return schema.get(f"exclusive{bound}") is True
