"""Keywords about what an object or a list holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.arguments.naming import suggestion
from capdisc_indexer.arguments.plain import is_number, key
from capdisc_indexer.arguments.walk import Keyword, Walk, below, listed, mapping, place
from capdisc_indexer.text import one_line


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _properties(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    held = mapping(value)
    declared = [(name, inner) for name, inner in mapping(wanted).items() if name in held]
    return [each for name, inner in declared for each in walk.problems(inner, held[name], below(at, name))]


def _required(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    if not isinstance(value, Mapping):
        return []
    return [f"{below(at, name)}: is missing" for name in listed(wanted) if isinstance(name, str) and name not in value]


def _pattern_properties(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    pairs = [(name, item, inner) for name, item in mapping(value).items() for inner in _matching(walk, wanted, name)]
    return [each for name, item, inner in pairs for each in walk.problems(inner, item, below(at, name))]


def _matching(walk: Walk, patterns: Any, name: str) -> list[Any]:
    return [inner for pattern, inner in mapping(patterns).items() if walk.matches(pattern, name)]


def _additional(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    known, patterns = mapping(schema.get("properties")), schema.get("patternProperties")
    others = [name for name in mapping(value) if name not in known and not _matching(walk, patterns, name)]
    if wanted is False:
        return [f"{below(at, name)}: is unknown{suggestion(name, known)}" for name in others]
    return [each for name in others for each in walk.problems(wanted, value[name], below(at, name))]


def _property_names(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    return [f"{below(at, name)}: is no name allowed here" for name in mapping(value) if not walk.fits(wanted, name)]


def _dependent(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    """Names that others need beside them, or whole schemas; in draft 7 one keyword had both."""
    found: list[str] = []
    for name, needs in mapping(wanted).items():
        if not isinstance(value, Mapping) or name not in value:
            continue
        if _is_list(needs):
            missing = [each for each in needs if isinstance(each, str) and each not in value]
            found += [f"{below(at, each)}: is missing beside {one_line(name, 80)}" for each in missing]
        else:
            found += walk.problems(needs, value, at)
    return found


def _items(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    if not _is_list(value):
        return []
    if _is_list(wanted):  # as it was before 2020: one schema a place, `additionalItems` for the rest
        rest = schema.get("additionalItems", True)
        return _each(walk, value, at, lambda place: wanted[place] if place < len(wanted) else rest)
    first = len(listed(schema.get("prefixItems")))
    return _each(walk, value, at, lambda place: wanted if place >= first else True)


def _prefix_items(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    schemas = listed(wanted)
    return _each(walk, listed(value)[: len(schemas)], at, lambda place: schemas[place])


def _each(walk: Walk, items: Any, at: str, schema_of: Callable[[int], Any]) -> list[str]:
    return [
        each for number, item in enumerate(items) for each in walk.problems(schema_of(number), item, below(at, number))
    ]


def _unique(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    items = listed(value)
    is_wrong = wanted is True and len({key(item) for item in items}) < len(items)
    return [f"{place(at)}: must not hold the same twice"] if is_wrong else []


def _contains(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
    if not _is_list(value):
        return []
    fitting = sum(walk.fits(wanted, item) for item in value)
    least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if (is_number(least) and fitting < least) or (is_number(most) and fitting > most):
        return [f"{place(at)}: holds {fitting} of the items it must hold, which is too few or too many"]
    return []


def _size(kind: Callable[[Any], bool], words: str, exceeds: Callable[[int, Any], bool]) -> Keyword:
    def check(walk: Walk, wanted: Any, schema: Mapping[str, Any], value: Any, at: str) -> list[str]:
        wrong = is_number(wanted) and kind(value) and exceeds(len(value), wanted)
        return [f"{place(at)}: must have {words.format(wanted)}"] if wrong else []

    return check


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


KEYWORDS: Mapping[str, Keyword] = {
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique,
    "contains": _contains,
    "minItems": _size(_is_list, "at least {} items", lambda size, least: size < least),
    "maxItems": _size(_is_list, "at most {} items", lambda size, most: size > most),
    "minProperties": _size(_is_object, "at least {} members", lambda size, least: size < least),
    "maxProperties": _size(_is_object, "at most {} members", lambda size, most: size > most),
}
