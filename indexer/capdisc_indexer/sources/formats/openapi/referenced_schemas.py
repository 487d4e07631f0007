"""Schemas of a document written out: references in their places, as deep and as large as a reader
can use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.formats.openapi.api import ApiDocument
from capdisc_indexer.sources.readers.yaml_nodes import TextNode, to_json
from capdisc_indexer.text.normalization import one_line

_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default"}
_PLAIN = (
    "type format title description enum const default required minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minLength maxLength pattern minItems maxItems uniqueItems"
).split()


class SchemaWriter:
    """One schema being written out. `depth` and `nodes` bound it, `direction` is what is left out
    of it: what only answers have (`readOnly`) or only requests (`writeOnly`); long descriptions
    are cut to `characters`.
    """

    def __init__(
        self, document: ApiDocument, depth: int, nodes: int, direction: str, characters: int = 300
    ) -> None:
        self._document, self._depth, self._left = document, depth, nodes
        self._direction, self._characters = direction, characters

    def schema(self, value: Any, depth: int = 0, visited: tuple[str, ...] = ()) -> dict[str, Any]:
        """The schema without references; one inside itself, or beyond the bounds, is named by its
        type alone.
        """
        value, visited = self._follow_reference(value, visited)
        if not isinstance(value, dict):
            return {}
        self._left -= 1
        if depth >= self._depth or self._left < 0:
            return _outline(value)
        schema = {key: self._plain(key, value[key]) for key in _PLAIN if key in value}
        if isinstance(properties := value.get("properties"), dict):
            schema["properties"] = self._properties(properties, depth, visited)
        for key in _INNER:
            if isinstance(value.get(key), dict):
                schema[key] = self.schema(value[key], depth + 1, visited)
        for key in _LISTS:
            if isinstance(options := value.get(key), list):
                schema[key] = [
                    self.schema(option, depth + (key != "allOf"), visited)
                    for option in options[:20]
                ]
        return _in_draft(_merge_all_of(schema), value)

    def _follow_reference(
        self, value: Any, visited: tuple[str, ...]
    ) -> tuple[Any, tuple[str, ...]]:
        """What stands behind a reference, with what stands beside it; and the references on the
        way.
        """
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in visited or len(visited) > 40:
                name = one_line(reference.rpartition("/")[2], 64)
                return {"type": "object", "description": f"{name}, as above"}, visited
            target = self._document.at(reference)
            siblings = {key: sibling for key, sibling in value.items() if key != "$ref"}
            value = {**target, **siblings} if isinstance(target, dict) else siblings
            visited = (*visited, reference)
        return value, visited

    def _properties(
        self, properties: Mapping[str, Any], depth: int, visited: tuple[str, ...]
    ) -> dict[str, Any]:
        written = {}
        for name, property_schema in properties.items():
            if self._left < 0:
                break
            if not (
                isinstance(property_schema, dict) and property_schema.get(self._direction) is True
            ):
                written[name] = self.schema(property_schema, depth + 1, visited)
        return written

    def _plain(self, key: str, value: Any) -> Any:
        is_text = key in ("description", "title") and isinstance(value, str)
        return one_line(value, self._characters) if is_text else value


def _outline(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": value["type"]} if isinstance(value.get("type"), str | list) else {}


def _merge_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Objects that have all properties of several as one object; other combinations stay."""
    parts = schema.get("allOf")
    if not parts or not all(map(_is_object, parts)):
        return schema
    remainder = {key: keyword_value for key, keyword_value in schema.items() if key != "allOf"}
    merged_schema: dict[str, Any] = {}
    for part in (*parts, remainder):
        merged_schema |= {
            key: keyword_value
            for key, keyword_value in part.items()
            if key not in ("properties", "required")
        }
        merged_schema["properties"] = {
            **merged_schema.get("properties", {}),
            **part.get("properties", {}),
        }
        merged_schema["required"] = list(
            dict.fromkeys([*merged_schema.get("required", []), *_names(part.get("required"))])
        )
    return (
        {
            key: keyword_value
            for key, keyword_value in merged_schema.items()
            if keyword_value not in ({}, [])
        }
        if merged_schema
        else schema
    )


def _is_object(part: Mapping[str, Any]) -> bool:
    return part.get("type", "object") == "object" and not part.keys() & set(_LISTS)


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _in_draft(schema: dict[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 and Swagger write otherwise than JSON Schema: `nullable`, flags and numbers
    as text, files.
    """
    if value.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if schema.get("type") == "file":
        schema["type"] = "string"
    if "required" in schema and not (schema["required"] and isinstance(schema["required"], list)):
        del schema["required"]
    for key in _NUMBERS & schema.keys():
        if isinstance(schema[key], bool) and key.startswith("exclusive"):
            del schema[key]
        elif isinstance(schema[key], str) and schema.get("type") in ("integer", "number"):
            schema[key] = to_json(TextNode(schema[key], True, 1, 1))
    return schema
