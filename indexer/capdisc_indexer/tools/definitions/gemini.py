"""Gemini's own kind of schema: a part of OpenAPI 3.0, types in capitals, no references."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from capdisc_indexer.arguments.walk import MAX_STEPS, TooInvolvedError, Walk, listed, mapping
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.definitions.schema import object_schema

# How deep objects in objects go, references unfolded; less where the whole would have more parts than MAX_PARTS.
DEPTHS = (8, 4, 2, 1)
MAX_PARTS = 1_000
_FORMATS: Mapping[str, tuple[str, ...]] = {
    "STRING": ("date-time",),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_KEPT: Mapping[str, tuple[str, ...]] = {
    "STRING": ("minLength", "maxLength", "pattern"),
    "NUMBER": ("minimum", "maximum"),
    "INTEGER": ("minimum", "maximum"),
    "ARRAY": ("minItems", "maxItems"),
    "OBJECT": ("minProperties", "maxProperties"),
}
_TYPES = ("string", "number", "integer", "boolean", "array", "object")


def gemini_schema(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters in Gemini's form. What it has no word for is said in the description, or left out: additional
    and pattern properties, conditions, most formats."""
    whole = object_schema(schema)
    for depth in DEPTHS:
        with suppress(TooInvolvedError):
            return _adapted(Walk(root=whole, keywords={}, steps=MAX_STEPS - MAX_PARTS), whole, depth)
    return {"type": "OBJECT"}


def _adapted(walk: Walk, schema: Any, depth: int) -> dict[str, Any]:
    with walk.level():
        one = _single(walk, schema)
        kind = _type(one)
        made = _described(one, kind)
        made |= {key: one[key] for key in _KEPT.get(kind, ()) if isinstance(one.get(key), int | float | str)}
        if one.get("format") in _FORMATS.get(kind, ()):
            made["format"] = one["format"]
        if kind == "OBJECT" and depth:
            made |= _members(walk, one, depth)
        if kind == "ARRAY":
            items = one.get("items") if depth else None
            made["items"] = _adapted(walk, items, depth - 1) if isinstance(items, Mapping) else {"type": "STRING"}
        return made


def _single(walk: Walk, schema: Any) -> dict[str, Any]:
    """The schema without references, and of a choice the first that is not null; `nullable` says the rest."""
    one = dict(walk.resolved(schema))
    for word in ("anyOf", "oneOf", "allOf"):
        options = [walk.resolved(option) for option in listed(one.pop(word, None))]
        real = [option for option in options if option.get("type") != "null"]
        if len(real) < len(options):
            one["nullable"] = True
        for option in real if word == "allOf" else real[:1]:
            one = {**option, **one}
    types = listed(one.get("type"))
    if "null" in types:
        one["nullable"] = True
    if types:
        one["type"] = next((name for name in types if name != "null"), "string")
    return one


def _type(one: Mapping[str, Any]) -> str:
    if one.get("type") in _TYPES:
        return str(one["type"]).upper()
    if "properties" in one:
        return "OBJECT"
    choices = _choices(one)
    if choices and all(isinstance(choice, int) and not isinstance(choice, bool) for choice in choices):
        return "INTEGER"
    return "ARRAY" if "items" in one else "STRING"


def _choices(one: Mapping[str, Any]) -> list[Any]:
    return listed(one.get("enum")) or ([one["const"]] if "const" in one else [])


def _described(one: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Type, description and choices. Choices are texts to it; of any other type they are told in words."""
    made: dict[str, Any] = {"type": kind}
    choices = _choices(one)
    said = [str(one["description"])] if isinstance(one.get("description"), str) else []
    if choices and kind == "STRING":
        made["enum"] = [choice for choice in choices if isinstance(choice, str) and choice]
    elif choices:
        said.append(f"One of {', '.join(one_line(json.dumps(choice), 40) for choice in choices[:20])}.")
    if "default" in one:
        said.append(f"Default: {one_line(json.dumps(one['default'], ensure_ascii=False), 80)}.")
    if one.get("nullable") is True:
        made["nullable"] = True
    if not made.get("enum", True):
        del made["enum"]
    return made | ({"description": " ".join(said)} if said else {})


def _members(walk: Walk, one: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = {name: _adapted(walk, inner, depth - 1) for name, inner in mapping(one.get("properties")).items()}
    required = [name for name in listed(one.get("required")) if name in properties]
    made: dict[str, Any] = {"properties": properties} if properties else {}
    return made | ({"required": required} if required else {})
