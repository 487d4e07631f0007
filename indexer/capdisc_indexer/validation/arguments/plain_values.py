"""Keywords about one value by itself: its type, its size, what it is one of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.model.json_types import JsonSchema
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.arguments.schema_walk import (
    Keyword,
    SchemaWalk,
    as_list,
    as_mapping,
    member_place,
    place_text,
    suggestion,
)

# Keywords that put schemas together.


def _reference(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    target = walk.target(keyword)
    if target is None:
        named = one_line(str(keyword), 80)
        return [
            f"{place_text(at)}: cannot be checked, as the schema refers to {named}, which it does not hold"
        ]
    return walk.problems(target, value, at)


def _all(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    return [message for option in as_list(keyword) for message in walk.problems(option, value, at)]


def _any(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    """What is wrong by the choice that comes nearest. That something is not null is not worth
    saying.
    """
    answers = [walk.problems(option, value, at) for option in as_list(keyword)]
    if not answers or not all(answers):
        return []
    not_null = f"{place_text(at)}: must be null"
    return min(answers, key=lambda branch: (branch[0].startswith(not_null), len(branch)))


def _one(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    fitting = sum(walk.fits(option, value) for option in as_list(keyword))
    if fitting > 1:
        return [f"{place_text(at)}: fits {fitting} of the choices, and must fit one alone"]
    return _any(walk, keyword, schema, value, at) if as_list(keyword) and not fitting else []


def _not(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    return [f"{place_text(at)}: is what it must not be"] if walk.fits(keyword, value) else []


def _if(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    branch = "then" if walk.fits(keyword, value) else "else"
    return walk.problems(as_mapping(schema).get(branch, True), value, at)


COMBINATOR_KEYWORDS: Mapping[str, Keyword] = {
    "$ref": _reference,
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
}


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


def kind_of(value: Any) -> str:
    """What the value is, with its article.

    >>> kind(3), kind("3"), kind(None)
    ('an integer', 'a string', 'null')
    """
    name = next((name for name in ("integer", *TYPES) if TYPES[name](value)), "something else")
    return (
        name
        if name in ("null", "something else")
        else f"{'an' if name[0] in 'aio' else 'a'} {name}"
    )


def value_key(value: Any) -> str:
    """The value as text that is the same for equal JSON values: 1 is 1.0, and is not true."""
    return json.dumps(_whole(value), sort_keys=True, ensure_ascii=False)


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _type(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    names = [
        name for name in (as_list(keyword) or [keyword]) if isinstance(name, str) and name in TYPES
    ]
    if not names or any(TYPES[name](value) for name in names):
        return []
    return [f"{place_text(at)}: must be {' or '.join(names)}, not {kind_of(value)}"]


def _enum(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    choices = as_list(keyword)
    if not choices or value_key(value) in {value_key(choice) for choice in choices}:
        return []
    shown = ", ".join(one_line(_show_value(choice), 60) for choice in choices[:SHOWN_CHOICES])
    return [
        f"{place_text(at)}: must be one of {shown}{', …' if len(choices) > SHOWN_CHOICES else ''}"
    ]


def _const(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    return (
        []
        if value_key(value) == value_key(keyword)
        else [f"{place_text(at)}: must be {one_line(_show_value(keyword), 60)}"]
    )


def _show_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bound(words: str, exceeds: Callable[[Any, Any, Mapping[str, Any]], bool]) -> Keyword:
    def check(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
        wrong = is_number(keyword) and is_number(value) and exceeds(value, keyword, schema)
        return [f"{place_text(at)}: must be {words} {keyword}"] if wrong else []

    return check


def _length(words: str, exceeds: Callable[[int, Any], bool]) -> Keyword:
    def check(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
        wrong = is_number(keyword) and isinstance(value, str) and exceeds(len(value), keyword)
        return [f"{place_text(at)}: must have {words} {keyword} characters"] if wrong else []

    return check


def _is_multiple(value: Any, divisor: Any) -> bool:
    """By the digits as written: 0.3 is a multiple of 0.1 to a person."""
    from fractions import Fraction

    return divisor <= 0 or Fraction(str(value)) % Fraction(str(divisor)) == 0


def _pattern(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    fits = not isinstance(value, str) or walk.matches(keyword, value)
    return [] if fits else [f"{place_text(at)}: must match the pattern {one_line(keyword, 80)}"]


VALUE_KEYWORDS: Mapping[str, Keyword] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    # In draft 4 `exclusiveMinimum` was a truth value beside the bound.
    "minimum": _bound(
        "at least",
        lambda value, minimum, schema: (
            value < minimum or (value == minimum and _excludes(schema, "Minimum"))
        ),
    ),
    "maximum": _bound(
        "at most",
        lambda value, maximum, schema: (
            value > maximum or (value == maximum and _excludes(schema, "Maximum"))
        ),
    ),
    "exclusiveMinimum": _bound("more than", lambda value, minimum, schema: value <= minimum),
    "exclusiveMaximum": _bound("less than", lambda value, maximum, schema: value >= maximum),
    "multipleOf": _bound(
        "a multiple of", lambda value, divisor, schema: not _is_multiple(value, divisor)
    ),
    "minLength": _length("at least", lambda length, minimum: length < minimum),
    "maxLength": _length("at most", lambda length, maximum: length > maximum),
    "pattern": _pattern,
}


def _excludes(schema: JsonSchema, bound: str) -> bool:
    return schema.get(f"exclusive{bound}") is True


# Keywords about what an object or a list holds.


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _properties(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    members = as_mapping(value)
    declared = [(name, inner) for name, inner in as_mapping(keyword).items() if name in members]
    return [
        message
        for name, inner in declared
        for message in walk.problems(inner, members[name], member_place(at, name))
    ]


def _check_required(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    if not isinstance(value, Mapping):
        return []
    return [
        f"{member_place(at, name)}: is missing"
        for name in as_list(keyword)
        if isinstance(name, str) and name not in value
    ]


def _pattern_properties(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    pairs = [
        (name, item, inner)
        for name, item in as_mapping(value).items()
        for inner in _matching(walk, keyword, name)
    ]
    return [
        message
        for name, item, inner in pairs
        for message in walk.problems(inner, item, member_place(at, name))
    ]


def _matching(walk: SchemaWalk, patterns: Any, name: str) -> list[Any]:
    return [inner for pattern, inner in as_mapping(patterns).items() if walk.matches(pattern, name)]


def _additional(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    declared, patterns = as_mapping(schema.get("properties")), schema.get("patternProperties")
    extra_names = [
        name
        for name in as_mapping(value)
        if name not in declared and not _matching(walk, patterns, name)
    ]
    if keyword is False:
        return [
            f"{member_place(at, name)}: is unknown{suggestion(name, declared)}"
            for name in extra_names
        ]
    return [
        message
        for name in extra_names
        for message in walk.problems(keyword, value[name], member_place(at, name))
    ]


def _property_names(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    return [
        f"{member_place(at, name)}: is no name allowed here"
        for name in as_mapping(value)
        if not walk.fits(keyword, name)
    ]


def _dependent(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    """Names that others need beside them, or whole schemas; in draft 7 one keyword had both."""
    messages: list[str] = []
    for name, needs in as_mapping(keyword).items():
        if not isinstance(value, Mapping) or name not in value:
            continue
        if _is_list(needs):
            missing = [need for need in needs if isinstance(need, str) and need not in value]
            messages += [
                f"{member_place(at, need)}: is missing beside {one_line(name, 80)}"
                for need in missing
            ]
        else:
            messages += walk.problems(needs, value, at)
    return messages


def _items(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    if not _is_list(value):
        return []
    if _is_list(
        keyword
    ):  # as it was before 2020: one schema a place, `additionalItems` for the rest
        remaining_schema = schema.get("additionalItems", True)
        return _check_elements(
            walk,
            value,
            at,
            lambda place: keyword[place] if place < len(keyword) else remaining_schema,
        )
    first = len(as_list(schema.get("prefixItems")))
    return _check_elements(walk, value, at, lambda place: keyword if place >= first else True)


def _prefix_items(
    walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str
) -> list[str]:
    schemas = as_list(keyword)
    return _check_elements(walk, as_list(value)[: len(schemas)], at, lambda place: schemas[place])


def _check_elements(
    walk: SchemaWalk, items: Any, at: str, schema_of: Callable[[int], Any]
) -> list[str]:
    return [
        message
        for number, item in enumerate(items)
        for message in walk.problems(schema_of(number), item, member_place(at, number))
    ]


def _unique(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    items = as_list(value)
    is_wrong = keyword is True and len({value_key(item) for item in items}) < len(items)
    return [f"{place_text(at)}: must not hold the same twice"] if is_wrong else []


def _contains(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
    if not _is_list(value):
        return []
    fitting = sum(walk.fits(keyword, item) for item in value)
    minimum, maximum = schema.get("minContains", 1), schema.get("maxContains", len(value))
    if (is_number(minimum) and fitting < minimum) or (is_number(maximum) and fitting > maximum):
        return [
            f"{place_text(at)}: holds {fitting} of the items it must hold, which is too few or too many"
        ]
    return []


def _size(kind: Callable[[Any], bool], words: str, exceeds: Callable[[int, Any], bool]) -> Keyword:
    def check(walk: SchemaWalk, keyword: Any, schema: JsonSchema, value: Any, at: str) -> list[str]:
        wrong = is_number(keyword) and kind(value) and exceeds(len(value), keyword)
        return [f"{place_text(at)}: must have {words.format(keyword)}"] if wrong else []

    return check


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


CONTAINER_KEYWORDS: Mapping[str, Keyword] = {
    "required": _check_required,
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
    "minItems": _size(_is_list, "at least {} items", lambda size, minimum: size < minimum),
    "maxItems": _size(_is_list, "at most {} items", lambda size, maximum: size > maximum),
    "minProperties": _size(_is_object, "at least {} members", lambda size, minimum: size < minimum),
    "maxProperties": _size(_is_object, "at most {} members", lambda size, maximum: size > maximum),
}
