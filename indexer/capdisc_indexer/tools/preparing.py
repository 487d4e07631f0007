"""From what a caller wrote to a tool and the arguments it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments import MAX_BYTES, filled, problems, too_deep
from capdisc_indexer.arguments.naming import compact, nearest
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.elsewhere import ELSEWHERE
from capdisc_indexer.tools.values import Tool

# What other registries of tools call our parameters.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "question", "prompt", "text", "search_query", "task", "need", "id", "name"),
    "table": ("table_id", "table_name", "title", "name", "id"),
    "database": ("db", "database_name", "doc_id", "schema"),
    "api": ("api_name",),
    "operation": ("operation_name", "operation_id", "name"),
    "name": ("skill", "skill_name", "document", "document_name", "doc_id", "term", "entity", "title", "id"),
    "document": ("doc_id", "document_name", "name"),
    "filename": ("file", "file_name", "path"),
    "target": ("link", "url", "href"),
    "term": ("search_term", "value", "query", "keyword", "name"),
    "keyword": ("keywords", "query", "term"),
    "keywords": ("keyword", "query", "words"),
    "page_number": ("page", "chunk", "number"),
    "limit": ("top_k", "k", "n", "max_results", "count", "size"),
    "tool_name": ("tool", "name", "id"),
    "arguments": ("args", "params", "input", "parameters"),
    "operation_type": ("type",),
    "search_type": ("type", "scope"),
}


@frozen(kw_only=True)
class Prepared:
    """A tool with arguments that fit it, and what was understood though it was spelt otherwise."""

    tool: Tool
    arguments: dict[str, Any]
    notices: tuple[str, ...] = ()


def prepared(tools: Mapping[str, Tool], name: str, arguments: Any) -> Prepared:
    """The tool of this name with the arguments, defaults filled in. Raises UsageError as `tools.call` says."""
    tool = _tool(tools, name)
    _check_text(arguments)
    given, notices = _renamed(tool, arguments) if isinstance(arguments, Mapping) else (arguments, ())
    if wrong := problems(tool.input_schema, given):
        raise UsageError(f"arguments that {tool.name} does not take: {'; '.join(wrong)}", f"it takes: {usage(tool)}")
    return Prepared(tool=tool, arguments=filled(tool.input_schema, given), notices=notices)


def _check_text(arguments: Any) -> None:
    """Raises UsageError for arguments that are too long, or that no index could hold."""
    if too_deep(arguments):
        return  # which is told with the other problems
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode())
    except UnicodeEncodeError as error:
        raise UsageError("the arguments hold half of a surrogate pair", "write the whole character") from error
    if size > MAX_BYTES:
        raise UsageError(f"the arguments have more than {MAX_BYTES // 1024} KiB", "give names, not contents")


def usage(tool: Tool) -> str:
    """The parameters in a few words, those in brackets may be left out.

    >>> from capdisc_indexer.tools.searching import TOOLS
    >>> usage(TOOLS[0])
    '[query], [limit]'
    """
    needed = tool.input_schema.get("required", ())
    return ", ".join(name if name in needed else f"[{name}]" for name in tool.input_schema["properties"]) or "nothing"


def named(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of this name or alias, without regard to case and separators."""
    forms = {compact(each): tool for tool in tools.values() for each in (tool.name, *tool.aliases)}
    return forms.get(compact(name))


def _tool(tools: Mapping[str, Tool], name: str) -> Tool:
    if tool := named(tools, name):
        return tool
    if elsewhere := {compact(each): each for each in ELSEWHERE}.get(compact(name)):
        raise InputError(f"{elsewhere} is not a discovery tool of capdisc", ELSEWHERE[elsewhere])
    close = nearest(name, [*tools, *(alias for tool in tools.values() for alias in tool.aliases)])
    meant = f"did you mean: {', '.join(close)}? " if close else ""
    search = "capdisc tools --all --names lists them, capdisc search finds capabilities"
    raise UsageError(f"there is no discovery tool {one_line(name, 80)!r}", f"{meant}{search}")


def _renamed(tool: Tool, given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments under the tool's own names, and a notice for each that had another."""
    own = tool.input_schema["properties"]
    kept = {name: value for name, value in given.items() if name in own}
    notices = []
    for name, value in given.items():
        if name in own:
            continue
        meant = next((each for each in own if each not in kept and _means(name, each)), name)
        kept[meant] = value
        if meant != name:
            notices.append(f"{tool.name}: took {one_line(name, 80)} for {meant}")
    return kept, tuple(notices)


def _means(name: str, own: str) -> bool:
    return compact(name) in {compact(each) for each in (own, *SYNONYMS.get(own, ()))}
