"""Which tools do the served MCP servers have, and what does an approval of one hold for?

The list of each server is kept in a file of the state folder, from which the index is built.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from capdisc_guard import TOLD, line_beginnings, mask_descriptor
from capdisc_indexer.config.client_servers import ServerDeclaration
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.skill_answers import MAX_ANSWER_BYTES, PAGES_KEY
from capdisc_indexer.sources.formats.tool_lists import ToolEntry, load_tools
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import state_file
from capdisc_run.mcp_client import ToolsPage

ENDING = ".tools.json"
# A list that is older is asked for again when the gateway starts.
LIST_SECONDS = 24 * 3600.0
MAX_TOOLS = 1_000


@frozen(kw_only=True)
class StoredList:
    """What a server said when it was last asked: the digest of its entry then, when that was
    (seconds since 1970), its tools as it gave them, and the pages of its skills.
    """

    start: str
    asked_at_s: float
    tools: Sequence[JsonObject]
    skill_pages: Sequence[ToolsPage] = ()


def list_path(folder: Path, name: str) -> Path:
    """The file with the tools of the server."""
    return folder / f"{name}{ENDING}"


def server_of(descriptor: Descriptor, folder: Path) -> str:
    """The name of the server in whose list the tool stands; "" for any other capability, such as a
    skill of a server.
    """
    if descriptor.kind == "skill":
        return ""
    parent, base = os.path.split(descriptor.source.path)
    is_list = base.endswith(ENDING) and system.realpath(parent) == system.realpath(folder)
    return base[: -len(ENDING)] if is_list else ""


def read_list(folder: Path, name: str) -> StoredList | None:
    """The list of the server; None where there is none that can be used."""
    path = list_path(folder, name)
    try:
        data = state_file.read_state_file(path, MAX_ANSWER_BYTES)
        value = json.loads(data) if data else {}
        tools = [tool for tool in value["tools"] if isinstance(tool, dict)]
        return StoredList(
            start=str(value["start"]),
            asked_at_s=path.stat().st_mtime,
            tools=tools,
            skill_pages=value.get(PAGES_KEY, ()),
        )
    except (CapdiscError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_list(folder: Path, declaration: ServerDeclaration, pages: Sequence[ToolsPage]) -> bool:
    """Keeps the tools that are served of these pages, and the skills. Whether they differ from
    those kept before. Raises InputError where the state folder cannot be written.
    """
    tools = list(_served_tools(declaration, pages))
    skill_pages = [page for page in pages if "tools" not in page]
    path, before = list_path(folder, declaration.name), read_list(folder, declaration.name)
    start = start_digest(declaration)
    with state_file.lock_folder(folder):
        is_same = before and before.tools == tools and list(before.skill_pages) == skill_pages
        if before and is_same and before.start == start:
            os.utime(path)
            return False
        document: JsonObject = {
            "server": declaration.name,
            "start": start,
            "asked_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "tools": tools,
        }
        document |= {PAGES_KEY: skill_pages} if skill_pages else {}
        state_file.replace_state_file(
            path,
            json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace"),
            MAX_ANSWER_BYTES,
        )
    return True


def remove_lists(folder: Path, keep: Sequence[str]) -> bool:
    """Removes the lists of servers other than these; whether there were any."""
    stray = [
        path for path in sorted(folder.glob(f"*{ENDING}")) if path.name[: -len(ENDING)] not in keep
    ]
    if stray:
        with state_file.lock_folder(folder):
            for path in stray:
                state_file.remove(path)
    return bool(stray)


def list_descriptors(
    folder: Path, declaration: ServerDeclaration, pages: Sequence[ToolsPage], tool: str = ""
) -> list[Descriptor]:
    """The capabilities that the index makes of these pages, or that of this tool alone."""
    path = str(list_path(folder, declaration.name))
    file = FoundFile(
        path=path,
        resolved=path,
        size=0,
        mtime_ns=0,
        ctime_ns=0,
        inode=0,
        relative=os.path.basename(path),
        root=folder.as_posix(),
        root_order=0,
        format="mcp",
    )
    entries = [
        (ToolEntry(entry), 1)
        for entry in _served_tools(declaration, pages)
        if not tool or entry.get("name") == tool
    ]
    loaded = load_tools(file, entries, declaration.name)
    beginnings = line_beginnings(loaded.parts)
    return [mask_descriptor(descriptor, beginnings) for descriptor in loaded.descriptors]


def _served_tools(
    declaration: ServerDeclaration, pages: Sequence[ToolsPage]
) -> Iterator[JsonObject]:
    """The tools of the pages that the entry of the server does not leave out, at most
    MAX_TOOLS.
    """
    count = 0
    for page in pages:
        for tool in page.get("tools", ()):
            name = tool.get("name") if isinstance(tool, dict) else None
            is_wanted = not declaration.only or name in declaration.only
            if isinstance(name, str) and is_wanted and name not in declaration.without:
                count += 1
                if count > MAX_TOOLS:
                    return
                yield tool


# What a call needs.


def is_read_only(descriptor: Descriptor) -> bool:
    """Whether the server says of the tool that it only reads."""
    return annotations_of(descriptor).get("readOnlyHint") is True


def approval_reason(descriptor: Descriptor) -> str:
    """Why somebody has to agree to calls of the tool."""
    annotations = annotations_of(descriptor)
    if annotations.get("destructiveHint") is True:
        return "its server says that it may destroy something"
    if annotations.get("readOnlyHint") is False or "destructiveHint" in annotations:
        return "its server says that it changes something"
    return "its server does not say that it only reads"


def approval_digest(descriptor: Descriptor, declaration: ServerDeclaration) -> str:
    """What an approval holds for: the tool's definition, and the entry of its server; for a server
    of a workspace, in this workspace alone.
    """
    place = declaration.path if declaration.scope == "workspace" else ""
    return _digest(
        "gateway", descriptor.id, definition_text(descriptor), start_digest(declaration), place
    )


def start_digest(declaration: ServerDeclaration) -> str:
    """A digest of what the entry of the server starts or reaches."""
    return _digest(declaration.start, declaration.only, declaration.without)


def definition_text(descriptor: Descriptor) -> str:
    """Everything of a tool that an agent reads, or that decides what it does, as one text."""
    values = {name: getattr(descriptor, name) for name in TOLD}
    return json.dumps(values, sort_keys=True, default=str)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def annotations_of(descriptor: Descriptor) -> Mapping[str, object]:
    """What the server says of the tool's behaviour."""
    annotations = descriptor.extra.get("annotations")
    return annotations if isinstance(annotations, Mapping) else {}
