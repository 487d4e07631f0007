"""Lists of tools: what MCP servers answer to `tools/list`, and what libraries take for function calling."""

# Paths are plain text here: they may hold bytes that are no text.

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.sources.decoding import decode, mark_finding
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.json_lines import json_lines
from capdisc_indexer.sources.json_places import named_lines
from capdisc_indexer.sources.json_reader import exported, read_json
from capdisc_indexer.sources.made import folder_of, name_of, noted, plain_part
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.selecting import categories, is_wanted
from capdisc_indexer.sources.shaped import Made, merged
from capdisc_indexer.sources.tool_fields import hints_of, in_words, tool_fields
from capdisc_indexer.sources.tool_items import Item, is_list, items, server_name
from capdisc_indexer.types import Finding, Loaded, Severity

_ENDING = ".tools.json"
_HOW = 'write {"tools": [{"name": ..., "description": ..., "inputSchema": ...}]}'


def load(file: FoundFile, data: bytes) -> Loaded:
    """Every tool of the file, and what is wrong with each one that cannot be taken."""
    if file.path.lower().endswith(".jsonl"):
        return _of_lines(file, data)
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(exported(text), file.path)
    if isinstance(text, Finding) or isinstance(value, Finding):
        return Loaded(findings=(value,) if isinstance(value, Finding) else ())
    if not is_list(value):
        return Loaded(findings=(noted(file, Severity.ERROR, "tools-shape", "holds no list of tools", _HOW),))
    found = list(items(value))
    lines = named_lines(text, [_name(item) for item in found])
    return tools(file, list(zip(found, lines, strict=True)), _server(file, value, found), mark_finding(data, file.path))


def _of_lines(file: FoundFile, data: bytes) -> Loaded:
    lines = list(json_lines(data, file.path))
    values = [one for one in lines if not isinstance(one, Finding)]
    placed = [(item, one.number) for one in values for item in items(one.value)]
    server = _server(file, [one.value for one in values], [item for item, _ in placed])
    return tools(file, placed, server, tuple(one for one in lines if isinstance(one, Finding)))


def tools(
    file: FoundFile,
    placed: Sequence[tuple[Item, int]],
    server: str,
    before: Sequence[Finding] = (),
    start: Mapping[str, Json] | None = None,
) -> Loaded:
    """The tools of one server ("": of none) with the lines that they stand on; `start` says how the server is started,
    for who wants to call one."""
    if not placed and not before:
        message, hint = "the list of tools is empty", "ask the server again, or remove the file"
        return Loaded(findings=(noted(file, Severity.INFO, "tools-empty", message, hint),))
    return merged(_made(file, placed, server, start), file, before)


def _made(
    file: FoundFile, placed: Sequence[tuple[Item, int]], server: str, start: Mapping[str, Json] | None
) -> Iterator[Made | Finding]:
    """Each tool that the declaration wants, once."""
    filed = categories([_name(item) for item, _ in placed], file.options, server)
    first: dict[str, int] = {}
    for item, line in placed:
        name, tool = _name(item), item.value
        if not isinstance(tool, dict) or not name:
            yield noted(file, Severity.ERROR, "tools-shape", "an entry of the list is no tool with a name", _HOW, line)
        elif name in first:
            message = f"the tool {name[:64]!r} stands in line {first[name]} already; not read"
            yield noted(file, Severity.ERROR, "duplicate-id", message, "remove one of the two", line)
        elif is_wanted(name, file.options):
            first[name] = line
            yield _tool(file, tool, line, server, filed[name], start)


def _tool(
    file: FoundFile, tool: dict[str, Json], line: int, server: str, category: str, start: Mapping[str, Json] | None
) -> Made:
    name = str(tool.get("name", ""))
    fields = tool_fields(tool, "tool" if server else "function", category)
    found: tuple[Finding, ...] = ()
    if not fields.get("description"):
        message, hint = f"the tool {name[:64]!r} has no description", "say what it does and when to use it"
        found = (noted(file, Severity.WARNING, "tool-undescribed", message, hint, line),)
        fields["description"] = fields.get("title") or in_words(name) or name
    if start:  # among the fields, so that a key in the arguments of a server is found
        fields["run"] = {"mcp": {**start, "tool": name}}
    facts: dict[str, Any] = {"server": server} if server else {}
    hints = hints_of(tool)
    return Made(
        fields=fields,
        line=line,
        prefix=f"tool:{server}." if server else "function:",
        extra=facts | ({"annotations": hints} if hints else {}),
        findings=found,
    )


def _server(file: FoundFile, value: Json, found: Sequence[Item]) -> str:
    """The server by declaration, by a file name made for it, by its own word, else by file or folder; functions that
    are written for a library have none."""
    base = os.path.basename(file.path)
    named = file.name or (base[: -len(_ENDING)] if base.lower().endswith(_ENDING) else "") or server_name(value)
    if plain := plain_part(named):
        return plain
    if file.format == "functions" or (found and all(item.is_function for item in found)):
        return ""
    return folder_of(file) if base.lower() == "tools.json" else name_of(file)


def _name(item: Item) -> str:
    name = item.value.get("name") if isinstance(item.value, dict) else None
    return name if isinstance(name, str) else ""
