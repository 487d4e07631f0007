"""Schemas of a document written out: references in their places, as deep and as large as a reader can use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.nodes import TextNode, typed
from capdisc_indexer.sources.openapi.document import Document
from capdisc_indexer.text import one_line

_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER = ("items", "additionalProperties", "not")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default"}
_PLAIN = (
    "type format title description enum const default required minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minLength maxLength pattern minItems maxItems uniqueItems"
).split()


class Writing:
    """One schema being written out. `depth` and `nodes` bound it, `direction` is what is left out of it: what only
    answers have (`readOnly`) or only requests (`writeOnly`); long descriptions are cut to `characters`."""

    def __init__(self, document: Document, depth: int, nodes: int, direction: str, characters: int = 300) -> None:
        self._document, self._depth, self._left = document, depth, nodes
        self._direction, self._characters = direction, characters

    def schema(self, value: Any, depth: int = 0, seen: tuple[str, ...] = ()) -> dict[str, Any]:
        """The schema without references; one inside itself, or beyond the bounds, is named by its type alone."""
        value, seen = self._reached(value, seen)
        if not isinstance(value, dict):
            return {}
        self._left -= 1
        if depth >= self._depth or self._left < 0:
            return _outline(value)
        found = {key: self._plain(key, value[key]) for key in _PLAIN if key in value}
        if isinstance(properties := value.get("properties"), dict):
            found["properties"] = self._properties(properties, depth, seen)
        for key in _INNER:
            if isinstance(value.get(key), dict):
                found[key] = self.schema(value[key], depth + 1, seen)
        for key in _LISTS:
            if isinstance(options := value.get(key), list):
                found[key] = [self.schema(each, depth + (key != "allOf"), seen) for each in options[:20]]
        return _in_draft(_joined(found), value)

    def _reached(self, value: Any, seen: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        """What stands behind a reference, with what stands beside it; and the references on the way."""
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in seen or len(seen) > 40:
                name = one_line(reference.rpartition("/")[2], 64)
                return {"type": "object", "description": f"{name}, as above"}, seen
            target = self._document.at(reference)
            beside = {key: each for key, each in value.items() if key != "$ref"}
            value = {**target, **beside} if isinstance(target, dict) else beside
            seen = (*seen, reference)
        return value, seen

    def _properties(self, properties: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> dict[str, Any]:
        written = {}
        for name, each in properties.items():
            if self._left < 0:
                break
            if not (isinstance(each, dict) and each.get(self._direction) is True):
                written[name] = self.schema(each, depth + 1, seen)
        return written

    def _plain(self, key: str, value: Any) -> Any:
        is_text = key in ("description", "title") and isinstance(value, str)
        return one_line(value, self._characters) if is_text else value


def _outline(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": value["type"]} if isinstance(value.get("type"), str | list) else {}


def _joined(schema: dict[str, Any]) -> dict[str, Any]:
    """Objects that have all properties of several as one object; other combinations stay."""
    parts = schema.get("allOf")
    if not parts or not all(map(_is_object, parts)):
        return schema
    rest = {key: each for key, each in schema.items() if key != "allOf"}
    whole: dict[str, Any] = {}
    for part in (*parts, rest):
        whole |= {key: each for key, each in part.items() if key not in ("properties", "required")}
        whole["properties"] = {**whole.get("properties", {}), **part.get("properties", {})}
        whole["required"] = list(dict.fromkeys([*whole.get("required", []), *_names(part.get("required"))]))
    return {key: each for key, each in whole.items() if each not in ({}, [])} if whole else schema


def _is_object(part: Mapping[str, Any]) -> bool:
    return part.get("type", "object") == "object" and not part.keys() & set(_LISTS)


def _names(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _in_draft(schema: dict[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 and Swagger write otherwise than JSON Schema: `nullable`, flags and numbers as text, files."""
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
            schema[key] = typed(TextNode(schema[key], True, 1, 1))
    return schema
