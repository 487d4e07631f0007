"""The schema of a function's parameters in Gemini's own form: a part of OpenAPI 3.0, with types in
capitals and without references.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from capdisc_indexer.model.json_types import JsonObject, JsonSchema
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.parameter_schema import object_schema
from capdisc_indexer.validation.schema_walk import (
    MAX_STEPS,
    SchemaTooComplexError,
    SchemaWalk,
    as_list,
    as_mapping,
)

# How deep objects are nested, references unfolded: the first depth at which the whole has no more
# parts than _MAX_GEMINI_PARTS.
_GEMINI_DEPTHS = (8, 4, 2, 1)
_MAX_GEMINI_PARTS = 1_000
_GEMINI_STRING_FORMATS: Mapping[str, tuple[str, ...]] = {
    "STRING": ("date-time",),
    "NUMBER": ("float", "double"),
    "INTEGER": ("int32", "int64"),
}
_GEMINI_KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "STRING": ("minLength", "maxLength", "pattern"),
    "NUMBER": ("minimum", "maximum"),
    "INTEGER": ("minimum", "maximum"),
    "ARRAY": ("minItems", "maxItems"),
    "OBJECT": ("minProperties", "maxProperties"),
}
_JSON_TYPES = ("string", "number", "integer", "boolean", "array", "object")


def gemini_schema(schema: JsonSchema | None) -> JsonObject:
    """The parameters in Gemini's form. What the form has no keyword for stands in the description,
    or is left out: additional and pattern properties, conditions, most formats.
    """
    root_schema = object_schema(schema)
    for depth in _GEMINI_DEPTHS:
        with suppress(SchemaTooComplexError):
            return _adapt_schema(
                SchemaWalk(root=root_schema, keywords={}, steps=MAX_STEPS - _MAX_GEMINI_PARTS),
                root_schema,
                depth,
            )
    return {"type": "OBJECT"}


def _adapt_schema(walk: SchemaWalk, schema: Any, depth: int) -> JsonObject:
    with walk.level():
        resolved_schema = _resolve_choice(walk, schema)
        kind = _gemini_type(resolved_schema)
        adapted = _describe_schema(resolved_schema, kind)
        adapted |= {
            key: resolved_schema[key]
            for key in _GEMINI_KEYWORDS.get(kind, ())
            if isinstance(resolved_schema.get(key), int | float | str)
        }
        if resolved_schema.get("format") in _GEMINI_STRING_FORMATS.get(kind, ()):
            adapted["format"] = resolved_schema["format"]
        if kind == "OBJECT" and depth:
            adapted |= _object_members(walk, resolved_schema, depth)
        if kind == "ARRAY":
            items = resolved_schema.get("items") if depth else None
            adapted["items"] = (
                _adapt_schema(walk, items, depth - 1)
                if isinstance(items, Mapping)
                else {"type": "STRING"}
            )
        return adapted


def _resolve_choice(walk: SchemaWalk, schema: Any) -> JsonObject:
    """The schema without references, with the first of its alternatives that is not null;
    `nullable` says that null is one, too.
    """
    resolved_schema = dict(walk.resolve_schema(schema))
    for keyword in ("anyOf", "oneOf", "allOf"):
        options = [
            walk.resolve_schema(option) for option in as_list(resolved_schema.pop(keyword, None))
        ]
        non_null = [option for option in options if option.get("type") != "null"]
        if len(non_null) < len(options):
            resolved_schema["nullable"] = True
        for option in non_null if keyword == "allOf" else non_null[:1]:
            resolved_schema = {**option, **resolved_schema}
    types = as_list(resolved_schema.get("type"))
    if "null" in types:
        resolved_schema["nullable"] = True
    if types:
        resolved_schema["type"] = next((name for name in types if name != "null"), "string")
    return resolved_schema


def _gemini_type(schema: JsonSchema) -> str:
    if schema.get("type") in _JSON_TYPES:
        return str(schema["type"]).upper()
    if "properties" in schema:
        return "OBJECT"
    choices = _enum_values(schema)
    if choices and all(
        isinstance(choice, int) and not isinstance(choice, bool) for choice in choices
    ):
        return "INTEGER"
    return "ARRAY" if "items" in schema else "STRING"


def _enum_values(schema: JsonSchema) -> list[Any]:
    return as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])


def _describe_schema(schema: JsonSchema, kind: str) -> JsonObject:
    """Type, description and choices. Gemini's choices are texts; those of any other type stand in
    the description.
    """
    adapted: JsonObject = {"type": kind}
    choices = _enum_values(schema)
    sentences = [str(schema["description"])] if isinstance(schema.get("description"), str) else []
    if kind != "STRING" and choices:
        shown_choices = ", ".join(one_line(json.dumps(choice), 40) for choice in choices[:20])
        sentences.append(f"One of {shown_choices}.")
    elif texts := [choice for choice in choices if isinstance(choice, str) and choice]:
        adapted["enum"] = texts
    if "default" in schema:
        default = json.dumps(schema["default"], ensure_ascii=False)
        sentences.append(f"Default: {one_line(default, 80)}.")
    if schema.get("nullable") is True:
        adapted["nullable"] = True
    return adapted | ({"description": " ".join(sentences)} if sentences else {})


def _object_members(walk: SchemaWalk, schema: JsonSchema, depth: int) -> JsonObject:
    properties = {
        name: _adapt_schema(walk, inner, depth - 1)
        for name, inner in as_mapping(schema.get("properties")).items()
    }
    required = [name for name in as_list(schema.get("required")) if name in properties]
    members: JsonObject = {"properties": properties} if properties else {}
    return members | ({"required": required} if required else {})
