"""The keywords of JSON Schema: one function for each, from a check to the problems in words.

A keyword whose own value is broken (`"type": 3`) has no problem with anything: the author of the
arguments cannot mend the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from operator import gt, lt
from typing import Any

from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.arguments.schema_walk import (
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
    """Whether it is a JSON number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": _is_text,
    "integer": _is_integer,
    "number": is_number,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": _is_list,
    "object": _is_object,
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


def _type(check: KeywordCheck) -> list[str]:
    declared = as_list(check.keyword) or [check.keyword]
    names = [name for name in declared if isinstance(name, str) and name in TYPES]
    if not names or any(TYPES[name](check.value) for name in names):
        return []
    return check.fails(
        f"must be {' or '.join(map(_with_article, names))}, not {kind_of(check.value)}"
    )


def _enum(check: KeywordCheck) -> list[str]:
    choices = check.keyword
    if not isinstance(choices, list) or not choices:
        return []
    if check.walk.key_of(check.value) in check.walk.choice_keys(choices):
        return []
    names = [one_line(_show_value(choice), 60) for choice in choices[:SHOWN_CHOICES]]
    if len(choices) > SHOWN_CHOICES:
        names.append("…")
    return check.fails(f"must be one of {', '.join(names)}")


def _const(check: KeywordCheck) -> list[str]:
    if check.walk.key_of(check.value) == check.walk.key_of(check.keyword):
        return []
    return check.fails(f"must be {one_line(_show_value(check.keyword), 60)}")


def _show_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bound(words: str, exceeds: Callable[[KeywordCheck], bool]) -> Keyword:
    def keyword(check: KeywordCheck) -> list[str]:
        are_numbers = is_number(check.keyword) and is_number(check.value)
        if are_numbers and exceeds(check):
            return check.fails(f"must be {words} {check.keyword}")
        return []

    return keyword


def _is_excluded(check: KeywordCheck, keyword: str) -> bool:
    """Whether the value is a bound that, as draft 4 writes it, is itself excluded."""
    return check.value == check.keyword and check.schema.get(keyword) is True


def _is_no_multiple(check: KeywordCheck) -> bool:
    """By the digits as written: 0.3 is a multiple of 0.1 to a person."""
    from fractions import Fraction

    divisor = check.keyword
    return divisor > 0 and Fraction(str(check.value)) % Fraction(str(divisor)) != 0


def _size(
    is_kind: Callable[[Any], bool], words: str, exceeds: Callable[[int, Any], bool]
) -> Keyword:
    def keyword(check: KeywordCheck) -> list[str]:
        limit = check.keyword
        if is_number(limit) and is_kind(check.value) and exceeds(len(check.value), limit):
            return check.fails(f"must have {words.format(limit)}")
        return []

    return keyword


def _pattern(check: KeywordCheck) -> list[str]:
    if not isinstance(check.value, str) or check.walk.matches(check.keyword, check.value):
        return []
    return check.fails(f"must match the pattern {one_line(check.keyword, 80)}")


# The members of an object


def _properties(check: KeywordCheck) -> list[str]:
    members = as_mapping(check.value)
    problems: list[str] = []
    for name, member_schema in as_mapping(check.keyword).items():
        if name in members:
            place = member_place(check.at, name)
            problems += check.walk.problems(member_schema, members[name], place)
    return problems


def _required_names(check: KeywordCheck) -> list[str]:
    if not isinstance(check.value, Mapping):
        return []
    return [
        f"{member_place(check.at, name)}: is missing"
        for name in as_list(check.keyword)
        if isinstance(name, str) and name not in check.value
    ]


def _pattern_properties(check: KeywordCheck) -> list[str]:
    problems: list[str] = []
    for name, member in as_mapping(check.value).items():
        for member_schema in _matching_schemas(check.walk, check.keyword, name):
            problems += check.walk.problems(member_schema, member, member_place(check.at, name))
    return problems


def _matching_schemas(walk: SchemaWalk, patterns: Any, name: str) -> list[Any]:
    return [
        schema for pattern, schema in as_mapping(patterns).items() if walk.matches(pattern, name)
    ]


def _additional_properties(check: KeywordCheck) -> list[str]:
    declared = as_mapping(check.schema.get("properties"))
    patterns = check.schema.get("patternProperties")
    problems: list[str] = []
    for name, member in as_mapping(check.value).items():
        if name in declared or _matching_schemas(check.walk, patterns, name):
            continue
        place = member_place(check.at, name)
        if check.keyword is False:
            problems.append(f"{place}: is unknown{suggestion(name, declared)}")
        else:
            problems += check.walk.problems(check.keyword, member, place)
    return problems


def _property_names(check: KeywordCheck) -> list[str]:
    return [
        f"{member_place(check.at, name)}: is not an allowed name"
        for name in as_mapping(check.value)
        if not check.walk.fits(check.keyword, name)
    ]


def _dependent(check: KeywordCheck) -> list[str]:
    """Names that need others beside them, or whole schemas; in draft 7 one keyword had both."""
    problems: list[str] = []
    for name, needs in as_mapping(check.keyword).items():
        if not isinstance(check.value, Mapping) or name not in check.value:
            continue
        if not _is_list(needs):
            problems += check.walk.problems(needs, check.value, check.at)
            continue
        problems += [
            f"{member_place(check.at, needed_name)}: is missing beside {one_line(name, 80)}"
            for needed_name in needs
            if isinstance(needed_name, str) and needed_name not in check.value
        ]
    return problems


# The items of a list


def _items(check: KeywordCheck) -> list[str]:
    if not _is_list(check.value):
        return []
    if _is_list(check.keyword):  # before 2020: a schema for each place, one for those after
        schemas = list(check.keyword)
        later_schema = check.schema.get("additionalItems", True)
    else:
        schemas = [True] * len(as_list(check.schema.get("prefixItems")))
        later_schema = check.keyword
    problems: list[str] = []
    for number, item in enumerate(check.value):
        item_schema = schemas[number] if number < len(schemas) else later_schema
        problems += check.walk.problems(item_schema, item, member_place(check.at, number))
    return problems


def _prefix_items(check: KeywordCheck) -> list[str]:
    problems: list[str] = []
    pairs = zip(as_list(check.keyword), as_list(check.value), strict=False)
    for number, (item_schema, item) in enumerate(pairs):
        problems += check.walk.problems(item_schema, item, member_place(check.at, number))
    return problems


def _unique_items(check: KeywordCheck) -> list[str]:
    items = as_list(check.value)
    if check.keyword is True and len(set(map(check.walk.key_of, items))) < len(items):
        return check.fails("must not hold the same item twice")
    return []


def _contains(check: KeywordCheck) -> list[str]:
    if not _is_list(check.value):
        return []
    count = sum(check.walk.fits(check.keyword, item) for item in check.value)
    minimum = check.schema.get("minContains", 1)
    maximum = check.schema.get("maxContains", len(check.value))
    if is_number(minimum) and count < minimum:
        return check.fails(f"must hold at least {minimum} matching items, and holds {count}")
    if is_number(maximum) and count > maximum:
        return check.fails(f"must hold at most {maximum} matching items, and holds {count}")
    return []


# Schemas made of schemas


def _reference(check: KeywordCheck) -> list[str]:
    target = check.walk.target(check.keyword)
    if target is None:
        reference = one_line(str(check.keyword), 80)
        return check.fails(
            f"cannot be checked: the schema refers to {reference}, which it does not contain"
        )
    return check.walk.problems(target, check.value, check.at)


def _all_of(check: KeywordCheck) -> list[str]:
    problems: list[str] = []
    for branch in as_list(check.keyword):
        problems += check.walk.problems(branch, check.value, check.at)
    return problems


def _any_of(check: KeywordCheck) -> list[str]:
    """The problems with the choice that is nearest. That the value is not null helps nobody."""
    answers = [
        check.walk.problems(branch, check.value, check.at) for branch in as_list(check.keyword)
    ]
    if not answers or not all(answers):
        return []
    not_null = f"{place_text(check.at)}: must be null"
    return min(answers, key=lambda problems: (problems[0].startswith(not_null), len(problems)))


def _one_of(check: KeywordCheck) -> list[str]:
    count = sum(check.walk.fits(branch, check.value) for branch in as_list(check.keyword))
    if count > 1:
        return check.fails(f"fits {count} of the choices, and must fit exactly one")
    return _any_of(check) if count == 0 else []


def _not(check: KeywordCheck) -> list[str]:
    if check.walk.fits(check.keyword, check.value):
        return check.fails("has a value that the schema excludes")
    return []


def _if(check: KeywordCheck) -> list[str]:
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
    "minLength": _size(_is_text, "at least {} characters", lt),
    "maxLength": _size(_is_text, "at most {} characters", gt),
    "pattern": _pattern,
    "required": _required_names,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "propertyNames": _property_names,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "minProperties": _size(_is_object, "at least {} members", lt),
    "maxProperties": _size(_is_object, "at most {} members", gt),
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique_items,
    "contains": _contains,
    "minItems": _size(_is_list, "at least {} items", lt),
    "maxItems": _size(_is_list, "at most {} items", gt),
    "$ref": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
}
