"""Postman collections 2.0 and 2.1, read as the OpenAPI document that they amount to: every request
is an operation, every folder a tag.

Of the examples in a collection only names and types are kept. Their values are often tokens and
addresses of a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from capdisc_data.api_document import MAX_DEPTH, ApiDocument, list_at, table_at
from capdisc_data.openapi import HTTP_METHODS, MAX_OPERATIONS, load_document
from capdisc_data.refusals import accept, catch_refusal, refuse
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.formats.manifest_adapter import read_text_field
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.json_reader import (
    named_lines,
    read_export,
    read_json,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line

_MAX_FOLDER_DEPTH = 16
_MAX_FIELDS = 100
_VARIABLE = re.compile(r"\{\{([^{}]{1,100})\}\}")
_ORIGIN = re.compile(r"^(https?://[^/?#]+)?(.*)$", re.DOTALL)
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
_FORM_TYPES = {
    "urlencoded": "application/x-www-form-urlencoded",
    "formdata": "multipart/form-data",
}
# Postman's kinds of authorization, as security schemes of OpenAPI.
_SECURITY: Mapping[str, dict[str, Json]] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "oauth2": {"type": "oauth2"},
    "apikey": {"type": "apiKey"},
}


@frozen(kw_only=True)
class _Request:
    """One request of the collection, with the folders above it and its authorization."""

    name: str
    folders: tuple[str, ...]
    fields: Mapping[str, Json]
    auth: Json


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The API of the collection with its operations."""
    text, value = accept(read_export(data, file.path, MAX_DEPTH))
    if isinstance(value, dict) and isinstance(inner := value.get("collection"), dict):
        value = inner  # as Postman's own API answers
    if not isinstance(value, dict) or not isinstance(value.get("item"), list):
        hint = "export the collection as Collection v2.1"
        refuse(file, "postman-shape", "holds no Postman collection", hint)
    return load_document(file, _as_document(value, text), mark_finding(data, file.path))


def _as_document(collection: Mapping[str, Json], text: str) -> ApiDocument:
    requests = list(_walk_requests(collection, (), collection.get("auth")))[: MAX_OPERATIONS + 1]
    lines = named_lines(text, [request.name for request in requests])
    variables = _read_variables(collection)
    paths: dict[str, Json] = {}
    line_by_place: dict[tuple[str, str], int] = {}
    schemes: dict[str, Json] = {}
    origins: list[str] = []
    for request, line in zip(requests, lines, strict=True):
        url = _VARIABLE.sub(lambda match: variables.get(match[1].strip(), match[0]), _url(request))
        origin, path = _split_origin(url)
        origins.append(origin)
        method = read_text_field(request.fields, "method").lower() or "get"
        if method not in HTTP_METHODS:
            continue
        path_item = paths.setdefault(path, {})
        assert isinstance(path_item, dict)
        if isinstance(first := path_item.get(method), dict):
            first["description"] = f"{first['description']}\n\nAlso: {request.name}".strip()
        else:
            path_item[method] = _as_operation(request, path, schemes)
            line_by_place[path, method] = line
    info = table_at(collection, "info")
    origin = next((origin for origin in origins if origin), "")
    document: dict[str, Json] = {
        "info": {
            "title": read_text_field(info, "name"),
            "description": _description(info),
            "version": read_text_field(info, "version"),
        },
        "servers": [{"url": origin}] if origin else [],
        "paths": paths,
        "components": {"securitySchemes": schemes},
    }
    return ApiDocument(
        value=document,
        line_of=lambda path, method: line_by_place.get((path, method), 1),
        kind="postman",
    )


def _walk_requests(
    folder: Mapping[str, Json], folders: tuple[str, ...], auth: Json
) -> Iterator[_Request]:
    """Every request below the folder, in order; a folder's authorization holds for all in it."""
    for item in _tables_at(folder, "item"):
        name, item_auth = one_line(read_text_field(item, "name"), 120), item.get("auth", auth)
        request = item.get("request")
        if isinstance(request, str):
            request = {"url": request}
        if isinstance(request, dict):
            fields = {
                **request,
                "description": request.get("description", item.get("description")),
            }
            yield _Request(
                name=name, folders=folders, fields=fields, auth=request.get("auth") or item_auth
            )
        elif len(folders) < _MAX_FOLDER_DEPTH:
            yield from _walk_requests(item, (*folders, name) if name else folders, item_auth)


def _read_variables(collection: Mapping[str, Json]) -> dict[str, str]:
    """The variables of the collection that are the beginning of an address. Any other may hold a
    secret.
    """
    return {
        read_text_field(variable, "key") or read_text_field(variable, "id"): address.rstrip("/")
        for variable in _tables_at(collection, "variable")
        if (address := read_text_field(variable, "value")).startswith(("https://", "http://"))
    }


def _tables_at(table: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """The mappings in the list at a key."""
    return [entry for entry in list_at(table, key) if isinstance(entry, dict)]


def _url(request: _Request) -> str:
    url = table_at(request.fields, "url")
    return read_text_field(request.fields, "url") or read_text_field(url, "raw")


def _split_origin(url: str) -> tuple[str, str]:
    """The beginning of an address, and its path as OpenAPI writes it.

    >>> _split_origin("https://a.example/v1/users/:id?full=1")
    ('https://a.example', '/v1/users/{id}')
    """
    bare_url = _VARIABLE.sub(lambda match: f"{{{match[1].strip()}}}", url.partition("?")[0])
    match = _ORIGIN.match(bare_url)
    origin, path = (match[1] or "", match[2]) if match else ("", bare_url)
    if not origin and path.startswith("{"):  # an address that only the person's own settings know
        path = path.partition("}")[2]
    pieces = (
        f"{{{piece[1:]}}}" if piece.startswith(":") and len(piece) > 1 else piece
        for piece in path.partition("#")[0].split("/")
    )
    written = "/".join(pieces)
    return origin, written if written.startswith("/") else f"/{written}"


def _as_operation(request: _Request, path: str, schemes: dict[str, Json]) -> dict[str, Json]:
    tags: list[Json] = [*request.folders]
    operation: dict[str, Json] = {
        "operationId": request.name,
        "summary": request.name,
        "description": _description(request.fields),
        "tags": tags,
        "parameters": [*_path_parameters(request, path), *_query_parameters(request)],
    }
    if body := _request_body(table_at(request.fields, "body")):
        operation["requestBody"] = body
    auth = request.auth if isinstance(request.auth, dict) else {}
    kind = read_text_field(auth, "type")
    if kind in _SECURITY:
        schemes[kind] = {**_SECURITY[kind], **_key_place(auth, kind)}
        operation["security"] = [{kind: []}]
    return operation


def _key_place(auth: Mapping[str, Json], kind: str) -> dict[str, Json]:
    """The header or parameter of an API key, by its name alone."""
    settings = {
        read_text_field(pair, "key"): read_text_field(pair, "value")
        for pair in _tables_at(auth, "apikey")
    }
    if kind != "apikey" or not settings.get("key"):
        return {}
    return {"name": settings["key"], "in": settings.get("in") or "header"}


def _path_parameters(request: _Request, path: str) -> list[Json]:
    descriptions = {
        read_text_field(variable, "key"): _description(variable)
        for variable in _tables_at(table_at(request.fields, "url"), "variable")
    }
    names = dict.fromkeys(re.findall(r"\{([^{}/]+)\}", path))
    return [_parameter(name, "path", descriptions.get(name, "")) for name in names]


def _query_parameters(request: _Request) -> list[Json]:
    return [
        _parameter(name, "query", _description(entry))
        for entry in _tables_at(table_at(request.fields, "url"), "query")[:_MAX_FIELDS]
        if (name := read_text_field(entry, "key"))
    ]


def _parameter(name: str, place: str, description: str) -> dict[str, Json]:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": {"type": "string"},
    }


def _request_body(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The body with the names and types of its fields, and none of their values."""
    mode = read_text_field(fields, "mode")
    if mode in _FORM_TYPES:
        properties: dict[str, Json] = {
            name: {"type": "string", "description": _description(entry)}
            for entry in _tables_at(fields, mode)[:_MAX_FIELDS]
            if (name := read_text_field(entry, "key"))
        }
        schema: dict[str, Json] = {"type": "object", "properties": properties}
        return {"content": {_FORM_TYPES[mode]: {"schema": schema}}}
    if mode == "graphql":
        properties = {"query": {"type": "string"}, "variables": {"type": "object"}}
        schema = {"type": "object", "properties": properties}
        return {"required": True, "content": {"application/json": {"schema": schema}}}
    sample = _parse_sample(read_text_field(fields, "raw")) if mode == "raw" else None
    if not isinstance(sample, dict | list):
        return {}
    return {"content": {"application/json": {"schema": _sample_schema(sample, 0)}}}


def _parse_sample(raw: str) -> Json:
    """The value of a body, whose variables may stand where JSON wants a number; None if it is not
    JSON.
    """
    for text in (raw, _VARIABLE.sub("0", raw)):
        value = read_json(text) if text else None
        if not isinstance(value, Finding):
            return value
    return None


def _sample_schema(value: Json, depth: int) -> dict[str, Json]:
    """The types of a sample, four levels deep."""
    if isinstance(value, dict):
        if depth > 3:
            return {"type": "object"}
        entries = list(value.items())[:_MAX_FIELDS]
        properties: dict[str, Json] = {
            key: _sample_schema(inner, depth + 1) for key, inner in entries
        }
        return {"type": "object", "properties": properties}
    if isinstance(value, list) and value and depth <= 3:
        return {"type": "array", "items": _sample_schema(value[0], depth + 1)}
    name = _TYPES.get(type(value))
    return {"type": name} if name else {}


def _description(fields: Mapping[str, Json]) -> str:
    """The description, which is a text or an object with one."""
    inner = table_at(fields, "description")
    return read_text_field(fields, "description") or read_text_field(inner, "content")
