"""Files with lists of tools, in every shape that such lists have; each entry becomes the fields of
a manifest.

The shapes are those that MCP servers answer to `tools/list`, in pages and JSON-RPC envelopes, and
those that libraries take for function calling.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.catalogue import schema_of
from capdisc_indexer.sources.formats.manifest_adapter import (
    CapabilityDraft,
    categorize_names,
    is_wanted,
    merge_drafts,
)
from capdisc_indexer.sources.formats.naming_rules import (
    folder_of,
    name_in_words,
    name_of,
    plain_part,
)
from capdisc_indexer.sources.formats.parsed_capability import file_finding, join_loaded
from capdisc_indexer.sources.formats.server_skills import load_skills
from capdisc_indexer.sources.formats.skill_answers import collect_answers, is_skill_answer
from capdisc_indexer.sources.readers.field_reader import squeeze_key
from capdisc_indexer.sources.readers.file_bytes import mark_finding
from capdisc_indexer.sources.readers.json_reader import (
    json_lines,
    named_lines,
    read_export,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import split_lead

_ENDING = ".tools.json"
_SHAPE_HINT = 'write {"tools": [{"name": ..., "description": ..., "inputSchema": ...}]}'
_LIST_KEYS = ("tools", "functions", "functionDeclarations", "function_declarations")
_MAX_LIST_DEPTH = 6  # envelope, page, tool with declarations: deeper lists are not tools
# Keys that only libraries for function calling write; MCP servers write `inputSchema`.
_FUNCTION_KEYS = frozenset({"function", "input_schema"})
_INPUT_KEYS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "arguments")
_OUTPUT_KEYS = ("outputSchema", "output_schema", "response", "responseJsonSchema")
# Fields of a manifest that other programs write into a tool, too.
_MANIFEST_KEYS = frozenset(
    """
    title displayname category tags keywords phrases examples inputexamples hypotheticalqueries requires requiredtools
    requiredsecrets requiredbins composedwith related risklevel hassideeffects requiresconfirmation available hidden
    usagehint guidance instructions notfor donotusefor
    """.split()
)
_UPPER_CASE = re.compile(r"[A-Z]{3,}")
_MAX_TYPE_DEPTH = 64


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """Every tool of the file, and a finding for each that cannot be read."""
    if file.path.lower().endswith(".jsonl"):
        return _load_lines(file, data)
    export = read_export(data, file.path)
    if isinstance(export, Finding):
        return LoadedFile(findings=(export,))
    text, value = export
    if not is_list(value):
        message = "holds no list of tools"
        finding = file_finding(file, Severity.ERROR, "tools-shape", message, _SHAPE_HINT)
        return LoadedFile(findings=(finding,))
    entries = list(tool_entries(value))
    lines = named_lines(text, [_name(entry) for entry in entries])
    server, marks = _server(file, value, entries), mark_finding(data, file.path)
    skills = load_skills(file, collect_answers(value), server or name_of(file))
    if not entries and (skills.descriptors or skills.findings):
        return join_loaded(LoadedFile(findings=marks), skills)
    tools = load_tools(file, list(zip(entries, lines, strict=True)), server, marks)
    return join_loaded(tools, skills)


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
    """The tools that the declaration takes, numbered where a list has several of one name, and a
    finding for each entry that is not a tool or repeats one.
    """
    categories = categorize_names([_name(entry) for entry, _ in placed], file.options, server)
    first_lines: dict[str, int] = {}
    namesakes: dict[str, list[Json]] = {}
    for entry, line in placed:
        name, tool = _name(entry), entry.value
        if not isinstance(tool, dict) or not (name or _find_label(tool)):
            message = "an entry of the list is not a tool with a name"
            yield file_finding(file, Severity.ERROR, "tools-shape", message, _SHAPE_HINT, line)
            continue
        if not is_wanted(name, file.options):
            continue
        earlier = namesakes.setdefault(name, []) if name else []
        draft = _draft_tool(file, tool, line, server, categories[name], start)
        if earlier:
            message = f"the tool {name[:64]!r} stands in line {first_lines[name]} already"
            hint, is_copy = "remove one of the two", tool in earlier
            suffix = "" if is_copy else f"#{len(earlier) + 1}"
            message += "; not read" if is_copy else f"; this one is read as {name[:64]}{suffix}"
            yield file_finding(file, Severity.WARNING, "duplicate-id", message, hint, line)
            if is_copy:
                continue
            draft = replace(draft, suffix=suffix)
        first_lines.setdefault(name, line)
        earlier.append(tool)
        yield draft


def _draft_tool(
    file: FoundFile,
    tool: dict[str, Json],
    line: int,
    server: str,
    category: str,
    start: Mapping[str, Json] | None,
) -> CapabilityDraft:
    name = str(tool.get("name") or _find_label(tool))
    fields = tool_fields(tool, "tool" if server else "function", category)
    findings: tuple[Finding, ...] = ()
    if not fields.get("description"):
        message = f"the tool {name[:64]!r} has no description"
        hint = "say what it does and when to use it"
        findings = (file_finding(file, Severity.WARNING, "tool-undescribed", message, hint, line),)
        fields["description"] = fields.get("title") or name_in_words(name)
    # Among the fields, so that a key in the arguments of a server is found.
    if start and tool.get("name"):
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


def _find_label(tool: Mapping[str, Json]) -> str:
    """The title or description of a tool without a name; "" where it has neither."""
    labels = (tool.get("title"), hints_of(tool).get("title"), tool.get("description"))
    return next((label for label in labels if isinstance(label, str) and label.strip()), "")


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


@frozen
class ToolEntry:
    """One entry of a list. `is_function` says that it, or the list around it, has the shape of a
    library for function calling.
    """

    value: Json
    is_function: bool = False


def tool_entries(value: Json, is_function: bool = False, depth: int = 0) -> Iterator[ToolEntry]:
    """Every tool of a list, of pages, or of answers in JSON-RPC envelopes, in order.

    >>> [entry.value for entry in tool_entries([{"result": {"tools": [{"name": "a"}]}}, {"name": "b"}])]
    [{'name': 'a'}, {'name': 'b'}]
    """
    if isinstance(value, list) and depth < _MAX_LIST_DEPTH:
        for entry in value:
            yield from tool_entries(entry, is_function, depth + 1)
    elif isinstance(value, dict) and depth < _MAX_LIST_DEPTH and (list_keys := _list_keys(value)):
        for key in list_keys:
            yield from tool_entries(
                value[key], is_function or key not in ("tools", "result"), depth + 1
            )
    elif value is not None and not _is_empty_envelope(value):
        is_function = is_function or (isinstance(value, dict) and _is_function(value))
        yield ToolEntry(value, is_function)


def server_name(value: Json) -> str:
    """The name that a server gives itself in `serverInfo`, or ""."""
    for entry in value if isinstance(value, list) else [value]:
        for answer in (entry, entry.get("result")) if isinstance(entry, dict) else ():
            info = answer.get("serverInfo") if isinstance(answer, dict) else None
            if isinstance(info, dict) and isinstance(name := info.get("name"), str):
                return name
    return ""


def is_list(value: Json) -> bool:
    """Whether the JSON is a list of tools, even an empty one."""
    if isinstance(value, list):
        return True
    return isinstance(value, dict) and (
        bool(_list_keys(value))
        or _is_function(value)
        or "serverInfo" in value
        or is_skill_answer(value)
    )


def _list_keys(value: dict[str, Json]) -> list[str]:
    list_keys = [key for key in _LIST_KEYS if isinstance(value.get(key), list)]
    result = value.get("result")
    if isinstance(result, dict) and ("tools" in result or "serverInfo" in result):
        list_keys.append("result")
    if isinstance(value.get("function"), dict):
        list_keys.append("function")
    return list_keys


def _is_function(value: dict[str, Json]) -> bool:
    return bool(value.keys() & _FUNCTION_KEYS) or value.get("type") == "function"


def _is_empty_envelope(value: Json) -> bool:
    """Whether the value is an answer to another request, or an error."""
    return isinstance(value, dict) and (
        bool(value.keys() & {"jsonrpc", "serverInfo"}) or is_skill_answer(value)
    )


def tool_fields(tool: Mapping[str, Json], kind: str, category: str) -> dict[str, Json]:
    """The fields of an entry as a manifest has them; a long description becomes the content, with
    its first paragraph in its place.
    """
    hints = hints_of(tool)
    fields: dict[str, Json] = {"kind": kind, "name": tool.get("name"), "category": category}
    if isinstance(title := hints.get("title"), str):
        fields["title"] = title
    fields |= _risk_fields(hints)
    fields |= {
        key: value
        for key, value in tool.items()
        if squeeze_key(key) in _MANIFEST_KEYS and value is not None
    }
    fields |= _description_fields(tool.get("description"))
    for target, keys in (("inputSchema", _INPUT_KEYS), ("outputSchema", _OUTPUT_KEYS)):
        if (schema := _schema(tool, keys)) is not None:
            fields[target] = schema
    return fields


def hints_of(tool: Mapping[str, Json]) -> dict[str, Json]:
    """The annotations of a tool, which are hints: a server may give wrong ones."""
    hints = tool.get("annotations")
    return hints if isinstance(hints, dict) else {}


def _description_fields(description: Json) -> dict[str, Json]:
    if not isinstance(description, str):
        return {} if description is None else {"description": description}
    short, content = split_lead(description)
    return {"description": short, "content": content} if content else {"description": short}


def _risk_fields(hints: Mapping[str, Json]) -> dict[str, Json]:
    reads, destroys = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if reads is True:
        return {"riskLevel": "low", "hasSideEffects": False}
    if destroys is not True and reads is not False and destroys is not False:
        return {}
    # The protocol takes a tool that writes for destructive unless it says otherwise.
    return {
        "riskLevel": "high" if destroys is True else "medium",
        "hasSideEffects": True,
        "requiresConfirmation": destroys is not False,
    }


def _schema(tool: Mapping[str, Json], keys: tuple[str, ...]) -> Json:
    declared = next((tool[key] for key in keys if tool.get(key) not in (None, {})), None)
    if isinstance(declared, list):
        if not declared:
            return None
        return schema_of([_parameter_entry(parameter) for parameter in declared])
    return lower_types(declared) if isinstance(declared, dict) else None


def _parameter_entry(parameter: Json) -> Json:
    """A parameter of a flat list with `description`, for which some write `desc`."""
    if isinstance(parameter, dict) and "desc" in parameter and "description" not in parameter:
        return {**parameter, "description": parameter["desc"]}
    return parameter


def lower_types(schema: Json, depth: int = 0) -> Json:
    """The schema with types in lower case: some libraries write `"type": "OBJECT"`.

    >>> lower_types({"type": "ARRAY", "items": {"type": "STRING"}})
    {'type': 'array', 'items': {'type': 'string'}}
    """
    if depth > _MAX_TYPE_DEPTH:
        return schema
    if isinstance(schema, list):
        return [lower_types(inner, depth + 1) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: lower_types(value, depth + 1) for key, value in schema.items()}
    if isinstance(word := changed.get("type"), str) and _UPPER_CASE.fullmatch(word):
        changed["type"] = word.lower()
    return changed
