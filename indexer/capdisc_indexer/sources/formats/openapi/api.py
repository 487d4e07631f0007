"""The API itself: what its document says of it as a whole."""

# Paths are plain text here: they may hold bytes that are no text.

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.formats.derived_capability import folder_of, plain_part
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft
from capdisc_indexer.sources.formats.openapi.api_document import ApiDocument
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, split_lead

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
