"""An OpenAPI document (its value, its references, the lines of its operations), the API that it
describes as a whole, and its schemas without references: each is written out in its place, as deep
and as large as a reader can use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from capdisc_data.refusals import accept, refuse
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.sources.format_table import source_for
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft, read_text_field
from capdisc_indexer.sources.formats.naming_rules import folder_of, plain_part
from capdisc_indexer.sources.readers.json_reader import (
    LineIndex,
    clean_export,
    key_place,
    read_json,
)
from capdisc_indexer.sources.readers.yaml_nodes import (
    Json,
    Node,
    TextNode,
    YamlLimits,
    place_of,
    to_json,
)
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

# Schemas that were written out by a program are deep; documents of large APIs have 300,000 values.
MAX_DEPTH = 64
_LIMITS = YamlLimits(events=500_000, depth=MAX_DEPTH)
_MAX_REFERENCE_STEPS = 16
_FILE_ENDINGS = re.compile(
    r"(\.(openapi|swagger|postman_collection))?\.(json|ya?ml)$", re.IGNORECASE
)
_COMBINATIONS = ("allOf", "anyOf", "oneOf", "prefixItems")
_INNER_SCHEMAS = ("items", "additionalProperties", "not")
_NUMBERS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default"}
_COPIED_KEYWORDS = (
    "type format title description enum const default required minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minLength maxLength pattern minItems maxItems uniqueItems"
).split()
_MAX_OPTIONS = 20
_MAX_REFERENCES = 40


@frozen(kw_only=True)
class Operation:
    """One method of one path: its own fields, and `path_item`, which holds for all methods of the
    path.
    """

    path: str
    method: str
    fields: Mapping[str, Json]
    path_item: Mapping[str, Json]


@frozen(kw_only=True)
class ApiDocument:
    """A document of version 3, or of version 2 (Swagger) with its servers and security schemes
    where version 3 has them. `line_of` gives the line of a path and method; `kind` is the format
    that it was written in; `missing_references` gathers the references that lead to nothing in the
    document.
    """

    value: dict[str, Json]
    line_of: Callable[[str, str], int]
    kind: str = "openapi"
    missing_references: set[str] = field(default_factory=set)

    def at(self, reference: str) -> Json:
        """The value that a reference names inside the document, or None.

        A reference to nothing, or out of the document, is noted in `missing_references`; files and
        hosts are never asked.
        """
        if not reference.startswith("#/"):
            self.missing_references.add(reference)
            return None
        node: Json = self.value
        for step in reference.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isascii() and key.isdigit() and len(key) < 8:
                node = node[int(key)] if int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        if node is None:
            self.missing_references.add(reference)
        return node

    def resolve(self, node: Json) -> dict[str, Json] | None:
        """The mapping that a node is or refers to, over a few references; None for anything
        else.
        """
        for _ in range(_MAX_REFERENCE_STEPS):
            if not isinstance(node, dict) or not isinstance(reference := node.get("$ref"), str):
                break
            node = self.at(reference)
        return node if isinstance(node, dict) and "$ref" not in node else None


def read_document(text: str, file: FoundFile) -> ApiDocument:
    """The document. Raises RefusedFileError for a text that is not one."""
    if text.lstrip().startswith("{"):
        value = accept(read_json(clean_export(text), file.path, MAX_DEPTH))
        return _document(value, _json_lines(text), file)
    result = read_yaml(text, file.path, limits=_LIMITS)
    accept(result.finding)
    node = result.documents[0] if result.documents else None
    return _document(to_json(node, exact=True) if node else None, _yaml_lines(node), file)


def _document(value: Json, line_of: Callable[[str, str], int], file: FoundFile) -> ApiDocument:
    fields = value if isinstance(value, dict) else {}
    version = str(fields.get("openapi", fields.get("swagger", "")))
    if not version.startswith(("3.", "2.")) and version != "3":
        message = f"the version {version[:20]!r} is not read" if version else "no OpenAPI document"
        refuse(file, "openapi-version", message, "write OpenAPI 3.0 or 3.1, or Swagger 2.0")
    if version.startswith("2."):
        schemes = {"securitySchemes": fields.get("securityDefinitions")}
        fields = {**fields, "servers": [{"url": _swagger_url(fields)}], "components": schemes}
    return ApiDocument(value=fields, line_of=line_of)


def _swagger_url(fields: Mapping[str, Json]) -> str:
    host, schemes = _text(fields, "host"), list_at(fields, "schemes")
    scheme = "https" if not schemes or "https" in schemes else "http"
    return f"{scheme}://{host}{_text(fields, 'basePath')}" if host else ""


def _json_lines(text: str) -> Callable[[str, str], int]:
    """A function that gives the lines of operations, if asked in the order of the text."""
    places: dict[str, int] = {}
    lines, cursor = LineIndex(text), [0]

    def line_of(path: str, method: str) -> int:
        if path not in places:
            places[path] = cursor[0] = key_place(text, path, cursor[0])
        return lines.of(key_place(text, method, places[path]))

    return line_of


def _yaml_lines(node: Node | None) -> Callable[[str, str], int]:
    return lambda path, method: place_of(node, ("paths", path, method))[0] if node else 1


def api_name(file: FoundFile, document: ApiDocument) -> str:
    """The API's name: that of the declaration, else of the file unless it only names the format,
    else the title, else the folder.
    """
    # os.path, since paths may hold bytes that are not text.
    base = os.path.basename(file.path)
    source = source_for(base)
    own_name = "" if source and base.lower() in source.filenames else _FILE_ENDINGS.sub("", base)
    title = read_text_field(table_at(document.value, "info"), "title").lower()
    return (
        plain_part(file.name) or plain_part(own_name) or plain_part(title)[:64] or folder_of(file)
    )


def draft_api(
    file: FoundFile, document: ApiDocument, api: str, operation_count: int
) -> CapabilityDraft:
    """The API as a capability of its own, under which its operations are listed."""
    info = table_at(document.value, "info")
    title, description = _text(info, "title"), _text(info, "description")
    short, content = split_lead(description or f"The API {title or api}.")
    fields: dict[str, Json] = {
        "kind": "api",
        "name": api,
        "title": one_line(title, 120) or api,
        "category": api,
        "description": short,
    }
    if content:
        fields["content"] = content
    extra: dict[str, Json] = {
        "type": document.kind,
        "url": server_url(file, document),
        "version": _text(info, "version"),
        "operations": operation_count,
    }
    return CapabilityDraft(fields=fields, line=1, prefix="api:", extra=extra)


def server_url(file: FoundFile, document: ApiDocument) -> str:
    """The base URL of the API: that of the declaration, else of the document's first server; "" if
    neither names one.
    """
    if isinstance(declared := file.options.get("url"), str) and declared:
        return declared.rstrip("/")
    server = next(iter(list_at(document.value, "servers")), None)
    if not isinstance(server, dict):
        return ""
    url = _text(server, "url")
    for name, variable in table_at(server, "variables").items():
        if isinstance(variable, dict) and isinstance(default := variable.get("default"), str):
            url = url.replace(f"{{{name}}}", default)
    return url.rstrip("/")


def table_at(table: Mapping[str, Json], key: str) -> dict[str, Json]:
    """The mapping at a key, empty if there is none."""
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def list_at(table: Mapping[str, Json], key: str) -> list[Json]:
    """The list at a key, empty if there is none."""
    value = table.get(key)
    return value if isinstance(value, list) else []


def _text(table: Mapping[str, Json], key: str) -> str:
    value = table.get(key)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) else ""


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
        """The schema at the end of the references, with the keywords next to them; and
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
