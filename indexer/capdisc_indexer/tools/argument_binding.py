"""From what a caller wrote to a tool and the arguments it takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import Tool
from capdisc_indexer.validation.arguments import MAX_BYTES, fill_defaults, find_problems, too_deep
from capdisc_indexer.validation.arguments.schema_walk import compact_name, nearest_names

# Names that other registries have and that are no discovery tool here, each with where its work is
# done.

_HTTP_HINT = "capdisc call get_operation_details says method, path and parameters for a curl line; capdisc run ID calls it"
_FILES_HINT = "capabilities are files: capdisc new writes one, capdisc index takes it in"
_AGENT_HINT = "that is the agent's own turn, and needs no tool"

FOREIGN_TOOLS: Mapping[str, str] = {
    "execute_rest": _HTTP_HINT,
    "execute_graphql": _HTTP_HINT,
    "load_capability_extension": "capdisc loads no code; capdisc show ID says what a capability needs",
    "register_tool": _FILES_HINT,
    "register_doc": _FILES_HINT,
    "get_tool_function": "capdisc holds descriptions, no functions; capdisc run ID runs what says how",
    "listCapabilityIds": "run: capdisc list --ids",
    "getConfig": "run: capdisc config",
    "isInitialized": "run: capdisc status",
    "finalAnswer": _AGENT_HINT,
    "acknowledgeRequest": _AGENT_HINT,
}


# What other registries of tools call our parameters.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "question", "prompt", "text", "search_query", "task", "need", "id", "name"),
    "table": ("table_id", "table_name", "title", "name", "id"),
    "database": ("db", "database_name", "doc_id", "schema"),
    "api": ("api_name",),
    "operation": ("operation_name", "operation_id", "name"),
    "name": (
        "skill",
        "skill_name",
        "document",
        "document_name",
        "doc_id",
        "term",
        "entity",
        "title",
        "id",
    ),
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
class BoundCall:
    """A tool with arguments that fit it, and what was understood though it was spelt otherwise."""

    tool: Tool
    arguments: dict[str, Any]
    notices: tuple[str, ...] = ()


def bind_arguments(tools: Mapping[str, Tool], name: str, arguments: Any) -> BoundCall:
    """The tool of this name with the arguments, defaults filled in. Raises UsageError as
    `tools.call` says.
    """
    tool = _require_tool(tools, name)
    _check_text(arguments)
    named_arguments, notices = (
        _rename_arguments(tool, arguments) if isinstance(arguments, Mapping) else (arguments, ())
    )
    if wrong := find_problems(tool.input_schema, named_arguments):
        raise UsageError(
            f"arguments that {tool.name} does not take: {'; '.join(wrong)}",
            f"it takes: {describe_parameters(tool)}",
        )
    return BoundCall(
        tool=tool, arguments=fill_defaults(tool.input_schema, named_arguments), notices=notices
    )


def _check_text(arguments: Any) -> None:
    """Raises UsageError for arguments that are too long, or that no index could hold."""
    if too_deep(arguments):
        return  # which is told with the other problems
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, default=str).encode())
    except UnicodeEncodeError as error:
        raise UsageError(
            "the arguments hold half of a surrogate pair", "write the whole character"
        ) from error
    if size > MAX_BYTES:
        raise UsageError(
            f"the arguments have more than {MAX_BYTES // 1024} KiB", "give names, not contents"
        )


def describe_parameters(tool: Tool) -> str:
    """The parameters in a few words, those in brackets may be left out.

    >>> from capdisc_indexer.tools.search_tool import TOOLS
    >>> describe_parameters(TOOLS[0])
    '[query], [limit]'
    """
    needed = tool.input_schema.get("required", ())
    return (
        ", ".join(
            name if name in needed else f"[{name}]" for name in tool.input_schema["properties"]
        )
        or "nothing"
    )


def match_tool(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of this name or alias, without regard to case and separators."""
    forms = {
        compact_name(alias): tool for tool in tools.values() for alias in (tool.name, *tool.aliases)
    }
    return forms.get(compact_name(name))


def _require_tool(tools: Mapping[str, Tool], name: str) -> Tool:
    if tool := match_tool(tools, name):
        return tool
    if elsewhere := {
        compact_name(foreign_name): foreign_name for foreign_name in FOREIGN_TOOLS
    }.get(compact_name(name)):
        raise InputError(
            f"{elsewhere} is not a discovery tool of capdisc", FOREIGN_TOOLS[elsewhere]
        )
    close = nearest_names(
        name, [*tools, *(alias for tool in tools.values() for alias in tool.aliases)]
    )
    meant = f"did you mean: {', '.join(close)}? " if close else ""
    search = "capdisc tools --all --names lists them, capdisc search finds capabilities"
    raise UsageError(f"there is no discovery tool {one_line(name, 80)!r}", f"{meant}{search}")


def _rename_arguments(tool: Tool, arguments: Arguments) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments under the tool's own names, and a notice for each that had another."""
    properties = tool.input_schema["properties"]
    bound = {name: value for name, value in arguments.items() if name in properties}
    notices = []
    for name, value in arguments.items():
        if name in properties:
            continue
        meant = next(
            (
                candidate
                for candidate in properties
                if candidate not in bound and _is_synonym(name, candidate)
            ),
            name,
        )
        bound[meant] = value
        if meant != name:
            notices.append(f"{tool.name}: took {one_line(name, 80)} for {meant}")
    return bound, tuple(notices)


def _is_synonym(name: str, parameter_name: str) -> bool:
    return compact_name(name) in {
        compact_name(synonym) for synonym in (parameter_name, *SYNONYMS.get(parameter_name, ()))
    }
