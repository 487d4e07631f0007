"""Files with lists of tools: what MCP servers answer to `tools/list`, and what libraries take for
function calling.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import (
    file_finding,
    folder_of,
    name_of,
    plain_part,
)
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    categorize_names,
    is_wanted,
    merge_drafts,
)
from capdisc_indexer.sources.formats.tool_entries import (
    ToolEntry,
    hints_of,
    is_list,
    name_in_words,
    server_name,
    tool_entries,
    tool_fields,
)
from capdisc_indexer.sources.readers.json_reader import (
    clean_export,
    json_lines,
    named_lines,
    read_json,
)
from capdisc_indexer.sources.readers.text_decoding import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile

_ENDING = ".tools.json"
_SHAPE_HINT = 'write {"tools": [{"name": ..., "description": ..., "inputSchema": ...}]}'


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """Every tool of the file, and a finding for each that cannot be read."""
    if file.path.lower().endswith(".jsonl"):
        return _load_lines(file, data)
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(clean_export(text), file.path)
    if isinstance(text, Finding) or isinstance(value, Finding):
        return LoadedFile(findings=(value,) if isinstance(value, Finding) else ())
    if not is_list(value):
        message = "holds no list of tools"
        finding = file_finding(file, Severity.ERROR, "tools-shape", message, _SHAPE_HINT)
        return LoadedFile(findings=(finding,))
    entries = list(tool_entries(value))
    lines = named_lines(text, [_name(entry) for entry in entries])
    return load_tools(
        file,
        list(zip(entries, lines, strict=True)),
        _server(file, value, entries),
        mark_finding(data, file.path),
    )


def _load_lines(file: FoundFile, data: bytes) -> LoadedFile:
    results = list(json_lines(data, file.path))
    findings = tuple(result for result in results if isinstance(result, Finding))
    lines = [result for result in results if not isinstance(result, Finding)]
    placed = [(entry, line.number) for line in lines for entry in tool_entries(line.value)]
    server = _server(file, [line.value for line in lines], [entry for entry, _ in placed])
    return load_tools(file, placed, server, findings)


def load_tools(
    file: FoundFile,
    placed: Sequence[tuple[ToolEntry, int]],
    server: str,
    before: Sequence[Finding] = (),
    start: Mapping[str, Json] | None = None,
) -> LoadedFile:
    """The tools of one server ("": of none), given with their lines. `start` is the way to start
    the server, for a call of a tool.
    """
    if not placed and not before:
        message, hint = "the list of tools is empty", "ask the server again, or remove the file"
        return LoadedFile(
            findings=(file_finding(file, Severity.INFO, "tools-empty", message, hint),)
        )
    return merge_drafts(_draft_tools(file, placed, server, start), file, before)


def _draft_tools(
    file: FoundFile,
    placed: Sequence[tuple[ToolEntry, int]],
    server: str,
    start: Mapping[str, Json] | None,
) -> Iterator[CapabilityDraft | Finding]:
    """The tools that the declaration takes, and a finding for each entry that is not a tool or
    repeats one.
    """
    categories = categorize_names([_name(entry) for entry, _ in placed], file.options, server)
    first_lines: dict[str, int] = {}
    for entry, line in placed:
        name, tool = _name(entry), entry.value
        if not isinstance(tool, dict) or not name:
            message = "an entry of the list is not a tool with a name"
            yield file_finding(file, Severity.ERROR, "tools-shape", message, _SHAPE_HINT, line)
        elif name in first_lines:
            message = (
                f"the tool {name[:64]!r} stands in line {first_lines[name]} already; not read"
            )
            yield file_finding(
                file, Severity.ERROR, "duplicate-id", message, "remove one of the two", line
            )
        elif is_wanted(name, file.options):
            first_lines[name] = line
            yield _draft_tool(file, tool, line, server, categories[name], start)


def _draft_tool(
    file: FoundFile,
    tool: dict[str, Json],
    line: int,
    server: str,
    category: str,
    start: Mapping[str, Json] | None,
) -> CapabilityDraft:
    name = str(tool.get("name", ""))
    fields = tool_fields(tool, "tool" if server else "function", category)
    findings: tuple[Finding, ...] = ()
    if not fields.get("description"):
        message = f"the tool {name[:64]!r} has no description"
        hint = "say what it does and when to use it"
        findings = (file_finding(file, Severity.WARNING, "tool-undescribed", message, hint, line),)
        fields["description"] = fields.get("title") or name_in_words(name) or name
    if start:  # among the fields, so that a key in the arguments of a server is found
        fields["run"] = {"mcp": {**start, "tool": name}}
    extra: dict[str, Json] = {"server": server} if server else {}
    if hints := hints_of(tool):
        extra["annotations"] = hints
    return CapabilityDraft(
        fields=fields,
        line=line,
        prefix=f"tool:{server}." if server else "function:",
        extra=extra,
        findings=findings,
    )


def _server(file: FoundFile, value: Json, entries: Sequence[ToolEntry]) -> str:
    """The name of the server: by declaration, by a file name such as NAME.tools.json, by its own
    answer, else by file or folder; "" for functions that are written for a library.
    """
    base = os.path.basename(file.path)  # os.path, since paths may hold bytes that are not text
    name = (
        file.name
        or (base[: -len(_ENDING)] if base.lower().endswith(_ENDING) else "")
        or server_name(value)
    )
    if plain_name := plain_part(name):
        return plain_name
    if file.format == "functions" or (entries and all(entry.is_function for entry in entries)):
        return ""
    return folder_of(file) if base.lower() == "tools.json" else name_of(file)


def _name(entry: ToolEntry) -> str:
    name = entry.value.get("name") if isinstance(entry.value, dict) else None
    return name if isinstance(name, str) else ""
