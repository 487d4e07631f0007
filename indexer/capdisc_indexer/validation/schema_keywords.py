"""The keywords of JSON Schema: one function for each, from a check to the problems in words.

A keyword whose own value is broken (`"type": 3`) has no problem with anything: the author of the
arguments cannot mend the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import gt, lt
from typing import Any

from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.schema_walk import (
    Keyword,
    KeywordCheck,
    SchemaWalk,
    as_list,
    as_mapping,
    member_place,
    place_text,
    suggestion,
)

SHOWN_CHOICES = 12


# One value: its type, its size, the values that are allowed


def is_number(value: Any) -> bool:
    """Whether it is a JSON number; a truth value is not one."""
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
    """The type of a value, with its article.

    >>> kind_of(3), kind_of("3"), kind_of(None)
    ('an integer', 'a string', 'null')
    """
    for name in ("integer", *TYPES):
        if TYPES[name](value):
            return _with_article(name)
    return "something else"


def _with_article(name: str) -> str:
    if name == "null":
        return name
    return f"an {name}" if name[0] in "aio" else f"a {name}"


def _type(check: KeywordCheck) -> Iterable[str]:
    declared = as_list(check.keyword) or [check.keyword]
    names = [name for name in declared if isinstance(name, str) and name in TYPES]
    if not names or any(TYPES[name](check.value) for name in names):
        return ()
    return check.fails(
        f"must be {' or '.join(map(_with_article, names))}, not {kind_of(check.value)}"
    )


def _enum(check: KeywordCheck) -> Iterable[str]:
    choices = check.keyword
    if not isinstance(choices, list) or not choices:
        return ()
    if check.walk.key_of(check.value) in check.walk.choice_keys(choices):
        return ()
    names = [one_line(_show_value(choice), 60) for choice in choices[:SHOWN_CHOICES]]
    if len(choices) > SHOWN_CHOICES:
        names.append("…")
    return check.fails(f"must be one of {', '.join(names)}")


def _const(check: KeywordCheck) -> Iterable[str]:
    if check.walk.key_of(check.value) == check.walk.key_of(check.keyword):
        return ()
    return check.fails(f"must be {one_line(_show_value(check.keyword), 60)}")


def _show_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bound(words: str, exceeds: Callable[[KeywordCheck], bool]) -> Keyword:
    def keyword(check: KeywordCheck) -> Iterable[str]:
        if is_number(check.keyword) and is_number(check.value) and exceeds(check):
            return check.fails(f"must be {words} {check.keyword}")
        return ()

    return keyword


def _is_excluded(check: KeywordCheck, keyword: str) -> bool:
    """Whether the value is a bound that, as draft 4 writes it, is itself excluded."""
    return check.value == check.keyword and check.schema.get(keyword) is True


def _is_no_multiple(check: KeywordCheck) -> bool:
    """By the digits as written: 0.3 is a multiple of 0.1 to a person."""
    from fractions import Fraction

    divisor = check.keyword
    return divisor > 0 and Fraction(str(check.value)) % Fraction(str(divisor)) != 0


def _size(kind: str, words: str, exceeds: Callable[[int, Any], bool]) -> Keyword:
    def keyword(check: KeywordCheck) -> Iterable[str]:
        limit = check.keyword
        if is_number(limit) and TYPES[kind](check.value) and exceeds(len(check.value), limit):
            return check.fails(f"must have {words.format(limit)}")
        return ()

    return keyword


def _pattern(check: KeywordCheck) -> Iterable[str]:
    if not isinstance(check.value, str) or check.walk.matches(check.keyword, check.value):
        return ()
    return check.fails(f"must match the pattern {one_line(check.keyword, 80)}")


# The members of an object


def _properties(check: KeywordCheck) -> Iterator[str]:
    members = as_mapping(check.value)
    for name, schema in as_mapping(check.keyword).items():
        if name in members:
            yield from check.member_problems(schema, members[name], name)


def _required_names(check: KeywordCheck) -> Iterator[str]:
    for name in as_list(check.keyword) if isinstance(check.value, Mapping) else ():
        if isinstance(name, str) and name not in check.value:
            yield f"{member_place(check.at, name)}: is missing"


def _pattern_properties(check: KeywordCheck) -> Iterator[str]:
    for name, member in as_mapping(check.value).items():
        for schema in _matching_schemas(check.walk, check.keyword, name):
            yield from check.member_problems(schema, member, name)


def _matching_schemas(walk: SchemaWalk, patterns: Any, name: str) -> list[Any]:
    return [
        schema for pattern, schema in as_mapping(patterns).items() if walk.matches(pattern, name)
    ]


def _additional_properties(check: KeywordCheck) -> Iterator[str]:
    declared = as_mapping(check.schema.get("properties"))
    patterns = check.schema.get("patternProperties")
    for name, member in as_mapping(check.value).items():
        if name in declared or _matching_schemas(check.walk, patterns, name):
            continue
        if check.keyword is False:
            yield f"{member_place(check.at, name)}: is unknown{suggestion(name, declared)}"
        else:
            yield from check.member_problems(check.keyword, member, name)


def _property_names(check: KeywordCheck) -> Iterator[str]:
    for name in as_mapping(check.value):
        if not check.walk.fits(check.keyword, name):
            yield f"{member_place(check.at, name)}: is not an allowed name"


def _dependent(check: KeywordCheck) -> Iterator[str]:
    """Names that need others with them, or whole schemas; in draft 7 one keyword had both."""
    for name, needs in as_mapping(check.keyword).items():
        if not isinstance(check.value, Mapping) or name not in check.value:
            continue
        if not isinstance(needs, (list, tuple)):
            yield from check.walk.problems(needs, check.value, check.at)
            continue
        for needed in needs:
            if isinstance(needed, str) and needed not in check.value:
                place = member_place(check.at, needed)
                yield f"{place}: is missing, as {one_line(name, 80)} needs it"


# The items of a list


def _items(check: KeywordCheck) -> Iterator[str]:
    if isinstance(check.keyword, (list, tuple)):
        # Before 2020: a schema for each place, one for those after.
        schemas = list(check.keyword)
        later_schema = check.schema.get("additionalItems", True)
    else:
        schemas = [True] * len(as_list(check.schema.get("prefixItems")))
        later_schema = check.keyword
    for number, item in enumerate(as_list(check.value)):
        schema = schemas[number] if number < len(schemas) else later_schema
        yield from check.member_problems(schema, item, number)


def _prefix_items(check: KeywordCheck) -> Iterator[str]:
    pairs = zip(as_list(check.keyword), as_list(check.value), strict=False)
    for number, (schema, item) in enumerate(pairs):
        yield from check.member_problems(schema, item, number)


def _unique_items(check: KeywordCheck) -> Iterable[str]:
    items = as_list(check.value)
    if check.keyword is True and len(set(map(check.walk.key_of, items))) < len(items):
        return check.fails("must not hold the same item twice")
    return ()


def _contains(check: KeywordCheck) -> Iterable[str]:
    if not isinstance(check.value, (list, tuple)):
        return ()
    count = sum(check.walk.fits(check.keyword, item) for item in check.value)
    minimum = check.schema.get("minContains", 1)
    maximum = check.schema.get("maxContains", len(check.value))
    if is_number(minimum) and count < minimum:
        return check.fails(f"must hold at least {minimum} matching items, and holds {count}")
    if is_number(maximum) and count > maximum:
        return check.fails(f"must hold at most {maximum} matching items, and holds {count}")
    return ()


# Schemas made of schemas


def _reference(check: KeywordCheck) -> Iterable[str]:
    target = check.walk.target(check.keyword)
    if target is None:
        reference = one_line(str(check.keyword), 80)
        return check.fails(
            f"cannot be checked: the schema refers to {reference}, which it does not contain"
        )
    return check.walk.problems(target, check.value, check.at)


def _all_of(check: KeywordCheck) -> Iterator[str]:
    for branch in as_list(check.keyword):
        yield from check.walk.problems(branch, check.value, check.at)


def _any_of(check: KeywordCheck) -> Iterable[str]:
    """The problems with the nearest choice; null as a choice tells an author nothing."""
    answers = [
        check.walk.problems(branch, check.value, check.at) for branch in as_list(check.keyword)
    ]
    if not answers or not all(answers):
        return ()
    not_null = f"{place_text(check.at)}: must be null"
    return min(answers, key=lambda problems: (problems[0].startswith(not_null), len(problems)))


def _one_of(check: KeywordCheck) -> Iterable[str]:
    count = sum(check.walk.fits(branch, check.value) for branch in as_list(check.keyword))
    if count > 1:
        return check.fails(f"fits {count} of the choices, and must fit exactly one")
    return _any_of(check) if count == 0 else ()


def _not(check: KeywordCheck) -> Iterable[str]:
    if check.walk.fits(check.keyword, check.value):
        return check.fails("has a value that the schema excludes")
    return ()


def _if(check: KeywordCheck) -> Iterable[str]:
    branch = "then" if check.walk.fits(check.keyword, check.value) else "else"
    return check.walk.problems(check.schema.get(branch, True), check.value, check.at)


KEYWORDS: Mapping[str, Keyword] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _bound(
        "at least",
        lambda check: check.value < check.keyword or _is_excluded(check, "exclusiveMinimum"),
    ),
    "maximum": _bound(
        "at most",
        lambda check: check.value > check.keyword or _is_excluded(check, "exclusiveMaximum"),
    ),
    "exclusiveMinimum": _bound("more than", lambda check: check.value <= check.keyword),
    "exclusiveMaximum": _bound("less than", lambda check: check.value >= check.keyword),
    "multipleOf": _bound("a multiple of", _is_no_multiple),
    "minLength": _size("string", "at least {} characters", lt),
    "maxLength": _size("string", "at most {} characters", gt),
    "pattern": _pattern,
    "required": _required_names,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "minProperties": _size("object", "at least {} members", lt),
    "maxProperties": _size("object", "at most {} members", gt),
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique_items,
    "contains": _contains,
    "minItems": _size("array", "at least {} items", lt),
    "maxItems": _size("array", "at most {} items", gt),
    "$ref": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
