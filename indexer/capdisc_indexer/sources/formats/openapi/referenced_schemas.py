"""Schemas of a document without references: each is written out in its place, as deep and as large
as a reader can use.
"""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.sources.formats.openapi.api import ApiDocument
from capdisc_indexer.sources.readers.yaml_nodes import Json, TextNode, to_json
from capdisc_indexer.text.normalization import one_line

_COMBINATIONS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER_SCHEMAS = ("items", "additionalProperties", "not")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default"}
_COPIED_KEYWORDS = (
    "type format title description enum const default required minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minLength maxLength pattern minItems maxItems uniqueItems"
).split()
_MAX_OPTIONS = 20
_MAX_REFERENCES = 40


class SchemaWriter:
    """Writes schemas out within one budget: `depth` levels and `nodes` schemas in all.

    `direction` names the properties to leave out, `readOnly` for a request and `writeOnly` for a
    response; long descriptions are cut to `characters`.
    """

    def __init__(
        self, document: ApiDocument, depth: int, nodes: int, direction: str, characters: int = 300
    ) -> None:
        self._document, self._max_depth, self._nodes_left = document, depth, nodes
        self._direction, self._characters = direction, characters

    def schema(
        self, value: Json, depth: int = 0, visited: tuple[str, ...] = ()
    ) -> dict[str, Json]:
        """The schema without references; of one inside itself, or beyond the budget, the type
        alone.
        """
        value, visited = self._follow_references(value, visited)
        if not isinstance(value, dict):
            return {}
        self._nodes_left -= 1
        if depth >= self._max_depth or self._nodes_left < 0:
            return {"type": value["type"]} if isinstance(value.get("type"), str | list) else {}
        schema = {key: self._shorten(key, value[key]) for key in _COPIED_KEYWORDS if key in value}
        if isinstance(properties := value.get("properties"), dict):
            schema["properties"] = self._properties(properties, depth, visited)
        for key in _INNER_SCHEMAS:
            if isinstance(inner := value.get(key), dict):
                schema[key] = self.schema(inner, depth + 1, visited)
        for key in _COMBINATIONS:
            if isinstance(options := value.get(key), list):
                schema[key] = [
                    self.schema(option, depth + (key != "allOf"), visited)
                    for option in options[:_MAX_OPTIONS]
                ]
        return _as_json_schema(_merge_all_of(schema), value)

    def _follow_references(
        self, value: Json, visited: tuple[str, ...]
    ) -> tuple[Json, tuple[str, ...]]:
        """The schema at the end of the references, with the keywords that stand beside them; and
        the references on the way.
        """
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in visited or len(visited) > _MAX_REFERENCES:
                name = one_line(reference.rpartition("/")[2], 64)
                return {"type": "object", "description": f"{name}, as above"}, visited
            target = self._document.at(reference)
            siblings = {key: sibling for key, sibling in value.items() if key != "$ref"}
            value = {**target, **siblings} if isinstance(target, dict) else siblings
            visited = (*visited, reference)
        return value, visited

    def _properties(
        self, properties: Mapping[str, Json], depth: int, visited: tuple[str, ...]
    ) -> dict[str, Json]:
        written: dict[str, Json] = {}
        for name, property_schema in properties.items():
            if self._nodes_left < 0:
                break
            is_left_out = (
                isinstance(property_schema, dict) and property_schema.get(self._direction) is True
            )
            if not is_left_out:
                written[name] = self.schema(property_schema, depth + 1, visited)
        return written

    def _shorten(self, key: str, value: Json) -> Json:
        if key in ("description", "title") and isinstance(value, str):
            return one_line(value, self._characters)
        return value


def _merge_all_of(schema: dict[str, Json]) -> dict[str, Json]:
    """One object with the properties of all parts, if every part is an object; other combinations
    stay as they are.
    """
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not parts or not all(map(_is_object, parts)):
        return schema
    siblings = {keyword: value for keyword, value in schema.items() if keyword != "allOf"}
    merged: dict[str, Json] = {}
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for part in (*parts, siblings):
        if not isinstance(part, dict):
            continue
        for keyword, value in part.items():
            if keyword == "properties" and isinstance(value, dict):
                properties |= value
            elif keyword == "required" and isinstance(value, list):
                required += [name for name in value if isinstance(name, str)]
            elif keyword not in ("properties", "required"):
                merged[keyword] = value
        # In the place that they have in the first part: the order of keys is that of the answer.
        merged |= {"properties": properties, "required": list(dict.fromkeys(required))}
    return {keyword: value for keyword, value in merged.items() if value not in ({}, [])}


def _is_object(part: Json) -> bool:
    return (
        isinstance(part, dict)
        and part.get("type", "object") == "object"
        and not part.keys() & set(_COMBINATIONS)
    )


def _as_json_schema(schema: dict[str, Json], declared: Mapping[str, Json]) -> dict[str, Json]:
    """The schema with the dialect of OpenAPI 3.0 and Swagger translated: `nullable`, exclusive
    flags, numbers as text, files.
    """
    if declared.get("nullable") is True and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if schema.get("type") == "file":
        schema["type"] = "string"
    if "required" in schema and not (schema["required"] and isinstance(schema["required"], list)):
        del schema["required"]
    for key in _NUMBERS & schema.keys():
        value = schema[key]
        if isinstance(value, bool) and key.startswith("exclusive"):
            del schema[key]
        elif isinstance(value, str) and schema.get("type") in ("integer", "number"):
            schema[key] = to_json(TextNode(value, True, 1, 1))
    return schema
