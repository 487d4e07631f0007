"""The API itself: what its document says of it as a whole."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
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

# One OpenAPI document: its value, where its references lead, and on which lines its operations
# stand.

# Schemas that were written out by a program are deep; documents of large APIs have 300,000 values.
MAX_DEPTH = 64
_LIMITS = YamlLimits(events=500_000, depth=MAX_DEPTH)
_HOPS = 16


@frozen(kw_only=True)
class ApiDocument:
    """A document of version 2 (Swagger) or 3. `lost` gathers the references that lead to nothing
    in it.
    """

    value: Mapping[str, Any]
    version: int
    line_of: Callable[[str, str], int]
    lost: set[str] = field(default_factory=set)

    def table(self, key: str) -> Mapping[str, Any]:
        """The mapping at a key of the document, empty where there is none."""
        table = self.value.get(key)
        return table if isinstance(table, dict) else {}

    def at(self, reference: str) -> Any:
        """What a reference inside the document names; None, and noted, where that is nothing, or
        lies outside.

        Files and hosts are never asked.
        """
        node: Any = self.value
        steps = reference[1:].split("/")[1:] if reference.startswith("#/") else None
        for step in steps or ():
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isascii() and key.isdigit() and len(key) < 8:
                node = node[int(key)] if int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        if node is None or steps is None:
            self.lost.add(reference)
            return None
        return node

    def resolve(self, node: Any) -> dict[str, Any] | None:
        """The mapping that a node is or refers to, over a few references; None for anything
        else.
        """
        for _ in range(_HOPS):
            if not isinstance(node, dict) or not isinstance(reference := node.get("$ref"), str):
                break
            node = self.at(reference)
        return node if isinstance(node, dict) and "$ref" not in node else None


def read_document(text: str, file: FoundFile) -> ApiDocument | Finding:
    """The document, or the reason why the text is none."""
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
    """Lines of operations that are asked for in the order of the text."""
    places: dict[str, int] = {}
    lines, cursor = LineIndex(text), [0]

    def line_of(path: str, method: str) -> int:
        if path not in places:
            places[path] = cursor[0] = key_place(text, path, cursor[0])
        return lines.of(key_place(text, method, places[path]))

    return line_of


def _yaml_lines(node: Node | None) -> Callable[[str, str], int]:
    return lambda path, method: place_of(node, ("paths", path, method))[0] if node else 1


# Paths are plain text here: they may hold bytes that are no text.


_ENDINGS = re.compile(r"(\.(openapi|swagger))?\.(json|ya?ml)$", re.IGNORECASE)


def api_name(file: FoundFile, document: ApiDocument) -> str:
    """The API's name: by declaration, by a file name that says more than the format, by its title,
    by its folder.
    """
    base = os.path.basename(file.path)
    source = source_for(base)
    own_name = "" if source and base.lower() in source.filenames else _ENDINGS.sub("", base)
    title = document.table("info").get("title")
    title = title.lower() if isinstance(title, str) else ""
    return (
        plain_part(file.name) or plain_part(own_name) or plain_part(title)[:64] or folder_of(file)
    )


def api_of(file: FoundFile, document: ApiDocument, api: str, operations: int) -> CapabilityDraft:
    """The API as a capability of its own, under which its operations are listed."""
    info = document.table("info")
    title, described = _text(info, "title"), _text(info, "description")
    short, description = split_lead(described or f"The API {title or api}.")
    fields: dict[str, Json] = {
        "kind": "api", "name": api, "title": one_line(title, 120) or api, "category": api, "description": short,
    }  # fmt: skip
    facts = {
        "type": "openapi",
        "url": server_url(file, document),
        "version": _text(info, "version"),
    }
    return CapabilityDraft(
        fields=fields | ({"content": description} if description else {}),
        line=1,
        prefix="api:",
        extra={**facts, "operations": operations},
    )


def server_url(file: FoundFile, document: ApiDocument) -> str:
    """Where the API is reached: by the declaration's `url`, else the document's first server; ""
    where none is said.
    """
    if isinstance(declared := file.options.get("url"), str) and declared:
        return declared.rstrip("/")
    if document.version == 2:
        host, schemes = _text(document.value, "host"), document.value.get("schemes")
        scheme = "https" if not isinstance(schemes, list) or "https" in schemes else "http"
        return f"{scheme}://{host}{_text(document.value, 'basePath')}".rstrip("/") if host else ""
    servers = document.value.get("servers")
    first = (
        servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    )
    return _fill_server_variables(first).rstrip("/")


def _fill_server_variables(server: Mapping[str, Any]) -> str:
    variables = server.get("variables")
    url = _text(server, "url")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict) and isinstance(default := variable.get("default"), str):
            url = url.replace(f"{{{name}}}", default)
    return url


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    return (
        value.strip()
        if isinstance(value, str)
        else str(value)
        if isinstance(value, int | float)
        else ""
    )
