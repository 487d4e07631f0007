"""Lists of tools: what MCP servers answer to `tools/list`, and what libraries take for function
calling.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.catalogue import categorize_names, is_wanted, schema_of
from capdisc_indexer.sources.formats.derived_capability import (
    file_finding,
    folder_of,
    name_of,
    plain_part,
)
from capdisc_indexer.sources.formats.manifest_adapter import CapabilityDraft, merge_drafts
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.json_reader import (
    clean_export,
    json_lines,
    named_lines,
    read_json,
)
from capdisc_indexer.sources.readers.text_decoding import decode, mark_finding
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import space_identifiers, split_lead

# One entry of a list of tools, in the fields of a manifest.

_SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "arguments")
_OUTPUTS = ("outputSchema", "output_schema", "response", "responseJsonSchema")
# What other programs know of a tool beyond the usual, under the names that a manifest has for it.
_KEPT = frozenset(
    """
    title displayname category tags keywords phrases examples hypotheticalqueries requires requiredtools
    requiredsecrets requiredbins composedwith related risklevel hassideeffects requiresconfirmation available hidden
    usagehint guidance instructions
    """.split()
)
_UPPER = re.compile(r"[A-Z]{3,}")
_MAX_TYPE_DEPTH = 64


def tool_fields(tool: Mapping[str, Json], kind: str, category: str) -> dict[str, Json]:
    """The fields as far as the entry has them, with a long description's first paragraph in its
    place.
    """
    hints = hints_of(tool)
    titles = {"title": hints["title"]} if isinstance(hints.get("title"), str) else {}
    fields: dict[str, Json] = {
        "kind": kind,
        "name": tool.get("name"),
        "category": category,
        **titles,
        **_of_hints(hints),
    }
    fields |= {
        key: value for key, value in tool.items() if squeeze_key(key) in _KEPT and value is not None
    }
    fields |= _description_fields(tool.get("description"))
    for target, keys in (("inputSchema", _SCHEMAS), ("outputSchema", _OUTPUTS)):
        if (schema := _schema(tool, keys)) is not None:
            fields[target] = schema
    return fields


def hints_of(tool: Mapping[str, Json]) -> dict[str, Json]:
    """What the server says of the tool's nature; hints, which a server may give wrongly."""
    hints = tool.get("annotations")
    return hints if isinstance(hints, dict) else {}


def in_words(name: str) -> str:
    """A name as words, for a tool that nobody described.

    >>> in_words("list_openIssues")
    'list open Issues'
    """
    return " ".join(space_identifiers(re.sub(r"[_\W]+", " ", name)).split())


def _description_fields(description: Json) -> dict[str, Json]:
    if not isinstance(description, str):
        return {} if description is None else {"description": description}
    short, summary_and_body = split_lead(description)
    return (
        {"description": short, "content": summary_and_body}
        if summary_and_body
        else {"description": short}
    )


def _of_hints(hints: Mapping[str, Json]) -> dict[str, Json]:
    if hints.get("readOnlyHint") is True:
        return {"riskLevel": "low", "hasSideEffects": False}
    destructive = hints.get("destructiveHint")
    if destructive is True:
        return {"riskLevel": "high", "hasSideEffects": True, "requiresConfirmation": True}
    if hints.get("readOnlyHint") is False or destructive is False:
        # The protocol takes a tool that writes for destructive unless it says otherwise.
        return {
            "riskLevel": "medium",
            "hasSideEffects": True,
            "requiresConfirmation": destructive is not False,
        }
    return {}


def _schema(tool: Mapping[str, Json], keys: tuple[str, ...]) -> Json:
    declared = next((tool[key] for key in keys if tool.get(key) not in (None, {})), None)
    if isinstance(declared, list):
        return (
            schema_of([_parameter_entry(parameter) for parameter in declared]) if declared else None
        )
    return lower_types(declared) if isinstance(declared, dict) else None


def _parameter_entry(parameter: Json) -> Json:
    """A parameter of a flat list, which some write with `desc`."""
    if isinstance(parameter, dict) and "desc" in parameter and "description" not in parameter:
        return {**parameter, "description": parameter["desc"]}
    return parameter


def lower_types(schema: Any, depth: int = 0) -> Any:
    """The schema with types as JSON Schema writes them: some libraries write `"type": "OBJECT"`.

    >>> lowered({"type": "ARRAY", "items": {"type": "STRING"}})
    {'type': 'array', 'items': {'type': 'string'}}
    """
    if depth > _MAX_TYPE_DEPTH:
        return schema
    if isinstance(schema, list):
        return [lower_types(inner, depth + 1) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: lower_types(value, depth + 1) for key, value in schema.items()}
    if isinstance(word := changed.get("type"), str) and _UPPER.fullmatch(word):
        changed["type"] = word.lower()
    return changed


# The tools in what programs answer and libraries take: all the shapes that a list of tools comes
# in.

_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
_MAX_LIST_DEPTH = 6  # envelope, page, tool with declarations: what is deeper is no list of tools
# What only libraries for function calling write; MCP servers give `inputSchema`.
_OF_FUNCTIONS = frozenset({"function", "input_schema"})


@frozen
class ToolEntry:
    """One entry of a list. `is_function` says that a library's shape was around it, or is its
    own.
    """

    value: Json
    is_function: bool = False


def tool_entries(value: Json, is_function: bool = False, depth: int = 0) -> Iterator[ToolEntry]:
    """Every tool of a list, of pages, of answers in JSON-RPC envelopes, in their order.

    >>> [item.value for item in items([{"result": {"tools": [{"name": "a"}]}}, {"name": "b"}])]
    [{'name': 'a'}, {'name': 'b'}]
    """
    if isinstance(value, list) and depth < _MAX_LIST_DEPTH:
        for entry in value:
            yield from tool_entries(entry, is_function, depth + 1)
    elif isinstance(value, dict) and depth < _MAX_LIST_DEPTH and (inner := _inner(value)):
        for key in inner:
            yield from tool_entries(
                value[key], is_function or key not in ("tools", "result"), depth + 1
            )
    elif value is not None and not _is_empty_envelope(value):
        is_function = is_function or (isinstance(value, dict) and _is_function(value))
        yield ToolEntry(value, is_function)


def server_name(value: Json) -> str:
    """The name that a server gives itself in `serverInfo`, "" where there is none."""
    for entry in value if isinstance(value, list) else [value]:
        for place in (entry, entry.get("result")) if isinstance(entry, dict) else ():
            info = place.get("serverInfo") if isinstance(place, dict) else None
            if isinstance(info, dict) and isinstance(name := info.get("name"), str):
                return name
    return ""


def is_list(value: Json) -> bool:
    """Whether there is a list of tools at all, be it empty."""
    if isinstance(value, list):
        return True
    return isinstance(value, dict) and (
        bool(_inner(value)) or _is_function(value) or "serverInfo" in value
    )


def _inner(value: dict[str, Json]) -> list[str]:
    list_keys = [key for key in _LISTS if isinstance(value.get(key), list)]
    result = value.get("result")
    if isinstance(result, dict) and ("tools" in result or "serverInfo" in result):
        list_keys.append("result")
    if isinstance(value.get("function"), dict):
        list_keys.append("function")
    return list_keys


def _is_function(value: dict[str, Json]) -> bool:
    return bool(value.keys() & _OF_FUNCTIONS) or value.get("type") == "function"


def _is_empty_envelope(value: Json) -> bool:
    """An answer to another request, or an error in the place of one."""
    return isinstance(value, dict) and bool(value.keys() & {"jsonrpc", "serverInfo"})


# Paths are plain text here: they may hold bytes that are no text.


_ENDING = ".tools.json"
_HOW = 'write {"tools": [{"name": ..., "description": ..., "inputSchema": ...}]}'


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """Every tool of the file, and what is wrong with each one that cannot be taken."""
    if file.path.lower().endswith(".jsonl"):
        return _of_lines(file, data)
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(clean_export(text), file.path)
    if isinstance(text, Finding) or isinstance(value, Finding):
        return LoadedFile(findings=(value,) if isinstance(value, Finding) else ())
    if not is_list(value):
        return LoadedFile(
            findings=(
                file_finding(file, Severity.ERROR, "tools-shape", "holds no list of tools", _HOW),
            )
        )
    entries = list(tool_entries(value))
    lines = named_lines(text, [_name(item) for item in entries])
    return load_tools(
        file,
        list(zip(entries, lines, strict=True)),
        _server(file, value, entries),
        mark_finding(data, file.path),
    )


def _of_lines(file: FoundFile, data: bytes) -> LoadedFile:
    lines = list(json_lines(data, file.path))
    values = [value for value in lines if not isinstance(value, Finding)]
    placed = [(item, value.number) for value in values for item in tool_entries(value.value)]
    server = _server(file, [value.value for value in values], [item for item, _ in placed])
    return load_tools(
        file, placed, server, tuple(line for line in lines if isinstance(line, Finding))
    )


def load_tools(
    file: FoundFile,
    placed: Sequence[tuple[ToolEntry, int]],
    server: str,
    before: Sequence[Finding] = (),
    start: Mapping[str, Json] | None = None,
) -> LoadedFile:
    """The tools of one server ("": of none) with the lines that they stand on; `start` says how
    the server is started, for who wants to call one.
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
    """Each tool that the declaration wants, once."""
    filed = categorize_names([_name(item) for item, _ in placed], file.options, server)
    first: dict[str, int] = {}
    for item, line in placed:
        name, tool = _name(item), item.value
        if not isinstance(tool, dict) or not name:
            yield file_finding(
                file,
                Severity.ERROR,
                "tools-shape",
                "an entry of the list is no tool with a name",
                _HOW,
                line,
            )
        elif name in first:
            message = f"the tool {name[:64]!r} stands in line {first[name]} already; not read"
            yield file_finding(
                file, Severity.ERROR, "duplicate-id", message, "remove one of the two", line
            )
        elif is_wanted(name, file.options):
            first[name] = line
            yield _tool(file, tool, line, server, filed[name], start)


def _tool(
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
        message, hint = (
            f"the tool {name[:64]!r} has no description",
            "say what it does and when to use it",
        )
        findings = (file_finding(file, Severity.WARNING, "tool-undescribed", message, hint, line),)
        fields["description"] = fields.get("title") or in_words(name) or name
    if start:  # among the fields, so that a key in the arguments of a server is found
        fields["run"] = {"mcp": {**start, "tool": name}}
    facts: dict[str, Any] = {"server": server} if server else {}
    hints = hints_of(tool)
    return CapabilityDraft(
        fields=fields,
        line=line,
        prefix=f"tool:{server}." if server else "function:",
        extra=facts | ({"annotations": hints} if hints else {}),
        findings=findings,
    )


def _server(file: FoundFile, value: Json, entries: Sequence[ToolEntry]) -> str:
    """The server by declaration, by a file name made for it, by its own word, else by file or
    folder; functions that are written for a library have none.
    """
    base = os.path.basename(file.path)
    named = (
        file.name
        or (base[: -len(_ENDING)] if base.lower().endswith(_ENDING) else "")
        or server_name(value)
    )
    if plain := plain_part(named):
        return plain
    if file.format == "functions" or (entries and all(item.is_function for item in entries)):
        return ""
    return folder_of(file) if base.lower() == "tools.json" else name_of(file)


def _name(item: ToolEntry) -> str:
    name = item.value.get("name") if isinstance(item.value, dict) else None
    return name if isinstance(name, str) else ""
