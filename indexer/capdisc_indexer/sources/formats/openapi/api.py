"""An OpenAPI document (its value, its references, the lines of its operations), and the API that
it describes as a whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.formats.derived_capability import file_finding, folder_of, plain_part
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft
from capdisc_indexer.sources.readers.json_reader import (
    LineIndex,
    clean_export,
    key_place,
    read_json,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json, Node, place_of, to_json
from capdisc_indexer.sources.readers.yaml_reader import YamlLimits, read_yaml
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

# Schemas that were written out by a program are deep; documents of large APIs have 300,000 values.
MAX_DEPTH = 64
_LIMITS = YamlLimits(events=500_000, depth=MAX_DEPTH)
_MAX_REFERENCE_STEPS = 16
_FILE_ENDINGS = re.compile(r"(\.(openapi|swagger))?\.(json|ya?ml)$", re.IGNORECASE)


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
    """A document of version 2 (Swagger) or 3. `line_of` gives the line of a path and method;
    `missing_references` gathers the references that lead to nothing in the document.
    """

    value: dict[str, Json]
    version: int
    line_of: Callable[[str, str], int]
    missing_references: set[str] = field(default_factory=set)

    def table(self, key: str) -> Mapping[str, Json]:
        """The mapping at a key of the document, empty if there is none."""
        table = self.value.get(key)
        return table if isinstance(table, dict) else {}

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


def read_document(text: str, file: FoundFile) -> ApiDocument | Finding:
    """The document, or the finding that says why the text is none."""
    if text.lstrip().startswith("{"):
        value = read_json(clean_export(text), file.path, MAX_DEPTH)
        return value if isinstance(value, Finding) else _document(value, _json_lines(text), file)
    result = read_yaml(text, file.path, limits=_LIMITS)
    if result.finding:
        return result.finding
    node = result.documents[0] if result.documents else None
    return _document(to_json(node, exact=True) if node else None, _yaml_lines(node), file)


def _document(
    value: Json, line_of: Callable[[str, str], int], file: FoundFile
) -> ApiDocument | Finding:
    fields = value if isinstance(value, dict) else {}
    version = str(fields.get("openapi", fields.get("swagger", "")))
    if not version.startswith(("3.", "2.")) and version != "3":
        message = f"the version {version[:20]!r} is not read" if version else "no OpenAPI document"
        hint = "write OpenAPI 3.0 or 3.1, or Swagger 2.0"
        return file_finding(file, Severity.ERROR, "openapi-version", message, hint)
    return ApiDocument(value=fields, version=int(version[0]), line_of=line_of)


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
    title = document.table("info").get("title")
    title = title.lower() if isinstance(title, str) else ""
    return (
        plain_part(file.name) or plain_part(own_name) or plain_part(title)[:64] or folder_of(file)
    )


def draft_api(
    file: FoundFile, document: ApiDocument, api: str, operation_count: int
) -> CapabilityDraft:
    """The API as a capability of its own, under which its operations are listed."""
    info = document.table("info")
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
        "type": "openapi",
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
    if document.version == 2:
        host, schemes = _text(document.value, "host"), document.value.get("schemes")
        scheme = "https" if not isinstance(schemes, list) or "https" in schemes else "http"
        return f"{scheme}://{host}{_text(document.value, 'basePath')}".rstrip("/") if host else ""
    servers = document.value.get("servers")
    server = servers[0] if isinstance(servers, list) and servers else None
    return _fill_server_variables(server).rstrip("/") if isinstance(server, dict) else ""


def _fill_server_variables(server: Mapping[str, Json]) -> str:
    variables = server.get("variables")
    url = _text(server, "url")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict) and isinstance(default := variable.get("default"), str):
            url = url.replace(f"{{{name}}}", default)
    return url


def _text(table: Mapping[str, Json], key: str) -> str:
    value = table.get(key)
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) else ""
