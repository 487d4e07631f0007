"""Which tool a call means, and its arguments under the names that the tool takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.similar_names import compact_name, nearest_names
from capdisc_indexer.tools.tool_types import Tool
from capdisc_indexer.validation.arguments import MAX_BYTES, fill_defaults, find_problems, too_deep

_HTTP_HINT = "capdisc call get_operation_details says method, path and parameters for a curl line; capdisc run ID calls it"
_FILES_HINT = "capabilities are files: capdisc new writes one, capdisc index takes it in"
_AGENT_HINT = "that is the agent's own turn, and needs no tool"

# Tools of other registries that are none here, with the command that does their work.
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
# The names that other registries of tools give to our parameters.
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
    "row": ("row_key", "row_number", "row_id", "row_index", "key"),
    "search_type": ("type", "scope"),
    "id": ("name", "capability", "capability_id", "tool_name", "tool", "skill", "path"),
    "section": ("heading",),
    "file": ("filename", "file_name"),
    "kinds": ("kind",),
}


@frozen(kw_only=True)
class BoundCall:
    """A tool with arguments that fit it; `notices` names the parameters that were understood under
    another name.
    """

    tool: Tool
    arguments: Arguments
    notices: tuple[str, ...] = ()


def bind_arguments(tools: Mapping[str, Tool], name: str, arguments: object) -> BoundCall:
    """The tool of this name with the arguments, defaults filled in. Raises UsageError for a name
    that no tool has, and for arguments that the tool does not take.
    """
    tool = _require_tool(tools, name)
    _check_size(arguments)
    named_arguments = arguments
    notices: tuple[str, ...] = ()
    if isinstance(arguments, Mapping):
        named_arguments, notices = _rename_arguments(tool, arguments)
    problems = find_problems(tool.input_schema, named_arguments)
    if problems or not isinstance(named_arguments, Mapping):
        # By the name that was typed, which may be an alias of the tool.
        texts = [re.sub(r"^([\w.]+): (is|must|has) ", r"\1 \2 ", text) for text in problems]
        raise UsageError(
            f"the arguments do not fit {one_line(name, 80)}: {'; '.join(texts)}",
            f"it takes: {describe_parameters(tool)}",
        )
    return BoundCall(
        tool=tool, arguments=fill_defaults(tool.input_schema, named_arguments), notices=notices
    )


def _check_size(arguments: object) -> None:
    """Raises UsageError for arguments of more than MAX_BYTES, and for text that is no Unicode."""
    if too_deep(arguments):
        return  # `find_problems` reports it
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
    """The names of the parameters, optional ones in brackets.

    >>> from capdisc_indexer.tools.discovery_tools import TOOLS
    >>> describe_parameters(TOOLS[2])
    '[query], [limit]'
    """
    required_names = tool.input_schema.get("required", ())
    names = [
        name if name in required_names else f"[{name}]" for name in tool.input_schema["properties"]
    ]
    return ", ".join(names) or "nothing"


def match_tool(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of this name or alias, without regard to case and separators."""
    tools_by_name = {
        compact_name(alias): tool
        for tool in tools.values()
        for alias in (tool.name, *tool.aliases)
    }
    return tools_by_name.get(compact_name(name))


def _require_tool(tools: Mapping[str, Tool], name: str) -> Tool:
    if tool := match_tool(tools, name):
        return tool
    foreign_names = {compact_name(foreign_name): foreign_name for foreign_name in FOREIGN_TOOLS}
    if foreign_name := foreign_names.get(compact_name(name)):
        raise InputError(
            f"{foreign_name} is not a discovery tool of capdisc", FOREIGN_TOOLS[foreign_name]
        )
    near = nearest_names(
        name, [*tools, *(alias for tool in tools.values() for alias in tool.aliases)]
    )
    suggestion = f"did you mean: {', '.join(near)}? " if near else ""
    commands = "capdisc tools --all --names lists them, capdisc search finds capabilities"
    raise UsageError(
        f"there is no discovery tool {one_line(name, 80)!r}", f"{suggestion}{commands}"
    )


def _rename_arguments(tool: Tool, arguments: Arguments) -> tuple[Arguments, tuple[str, ...]]:
    """The arguments under the tool's own names, and a notice for each that had another."""
    own_names = tool.input_schema["properties"]
    renamed = {name: value for name, value in arguments.items() if name in own_names}
    notices = []
    for name, value in arguments.items():
        if name in own_names:
            continue
        free_names = (own_name for own_name in own_names if own_name not in renamed)
        new_name = next((free for free in free_names if _is_synonym(name, free)), name)
        renamed[new_name] = value
        if new_name != name:
            notices.append(f"{tool.name}: took {one_line(name, 80)} for {new_name}")
    return renamed, tuple(notices)


def _is_synonym(name: str, parameter_name: str) -> bool:
    synonyms = (parameter_name, *SYNONYMS.get(parameter_name, ()))
    return compact_name(name) in map(compact_name, synonyms)
