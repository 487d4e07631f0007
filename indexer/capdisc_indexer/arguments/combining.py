"""Keywords that put schemas together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.walk import Keyword, Walk, listed, mapping, place
from capdisc_indexer.text import one_line


def _reference(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    target = walk.target(wanted)
    if target is None:
        named = one_line(str(wanted), 80)
        return [f"{place(at)}: cannot be checked, as the schema refers to {named}, which it does not hold"]
    return walk.problems(target, value, at)


def _all(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    return [each for option in listed(wanted) for each in walk.problems(option, value, at)]


def _any(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    """What is wrong by the choice that comes nearest. That something is not null is not worth saying."""
    answers = [walk.problems(option, value, at) for option in listed(wanted)]
    if not answers or not all(answers):
        return []
    not_null = f"{place(at)}: must be null"
    return min(answers, key=lambda each: (each[0].startswith(not_null), len(each)))


def _one(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    fitting = sum(walk.fits(option, value) for option in listed(wanted))
    if fitting > 1:
        return [f"{place(at)}: fits {fitting} of the choices, and must fit one alone"]
    return _any(walk, wanted, schema, value, at) if listed(wanted) and not fitting else []


def _not(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    return [f"{place(at)}: is what it must not be"] if walk.fits(wanted, value) else []


def _if(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    branch = "then" if walk.fits(wanted, value) else "else"
    return walk.problems(mapping(schema).get(branch, True), value, at)


KEYWORDS: Mapping[str, Keyword] = {
    "$ref": _reference,
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
}
