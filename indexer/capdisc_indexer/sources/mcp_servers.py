"""The MCP servers of an agent, with the tools that each gave when it was last asked. Nothing is asked here."""

# Paths are plain text here: they may hold bytes that are no text.

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence

from capdisc_indexer.sources import MAX_READ_BYTES, SOURCES
from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.file_bytes import read_bytes
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.json_reader import exported, read_json
from capdisc_indexer.sources.made import noted
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.server_config import Server, servers
from capdisc_indexer.sources.tool_items import items
from capdisc_indexer.sources.tool_lists import tools
from capdisc_indexer.types import Finding, Loaded, Severity

_ASK = "run: capdisc index --ask-servers"


def load(file: FoundFile, data: bytes) -> Loaded:
    """The tools of every server that was asked, and a notice about each one that was not."""
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        return Loaded(findings=(value,))
    each = [Loaded(findings=(one,)) if isinstance(one, Finding) else _loaded(one, file) for one in servers(value, file)]
    return Loaded(
        descriptors=tuple(capability for one in each for capability in one.descriptors),
        findings=tuple(found for one in each for found in one.findings),
        parts=tuple(part for one in each for part in one.parts),
    )


def servers_of(file: FoundFile) -> list[Server | Finding]:
    """The servers of a file, a finding for each that cannot be asked; none where it cannot be read, which loading it
    tells of."""
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    text = data if isinstance(data, Finding) else decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    return [] if isinstance(value, Finding) else list(servers(value, file))


def answers(value: Json) -> tuple[str, Json]:
    """When a server was asked, and what it answered; both empty for a text that is no kept answer."""
    if not isinstance(value, dict):
        return "", None
    return str(value.get("asked_at", "")), value.get("answers")


def kept_text(name: str, asked_at: str, pages: Sequence[Mapping[str, Json]]) -> bytes:
    """What is kept of a server's answers."""
    return json.dumps({"server": name, "asked_at": asked_at, "answers": pages}, ensure_ascii=False, indent=1).encode()


def _loaded(server: Server, file: FoundFile) -> Loaded:
    kept = next((one for one in file.companions if os.path.basename(one.path) == server.kept_name()), None)
    data = read_bytes(kept, MAX_READ_BYTES) if kept else b""
    text = data if isinstance(data, Finding) else decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(exported(text), file.path) if text else None
    asked_at, pages = answers(None if isinstance(value, Finding) else value)
    if not asked_at:
        message = f"the server {server.name} was not asked for its tools yet"
        return Loaded(findings=(noted(file, Severity.WARNING, "server-unasked", message, _ASK),))
    age = noted(file, Severity.INFO, "server-asked", f"the tools of {server.name} are those of {asked_at[:40]}", _ASK)
    return tools(file, [(item, 1) for item in items(pages)], server.name, (age,), server.start())
