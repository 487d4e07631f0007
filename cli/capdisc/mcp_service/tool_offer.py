"""Which tools does a server offer, and how does a client see them?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from types import MappingProxyType

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line, readable_title
from capdisc_indexer.text.similar_names import nearest_names
from capdisc_indexer.tools import tool_table
from capdisc_indexer.tools.agent_tools import AGENT_TOOLS
from capdisc_indexer.tools.function_definitions import (
    EXECUTE_TOOL,
    RUN_TOOLS,
    Definition,
    define_tool,
)
from capdisc_indexer.tools.provider_formats import encode_definitions
from capdisc_indexer.tools.tool_types import Tool, ToolContext

EVERY_TOOL = "all"
# Those of the group `discovery`, whose definitions are the same for every index.
_WITHOUT_INDEX = ("discover_capabilities", "tool_search", "search_tool", EXECUTE_TOOL)
# Where a name is taken twice, that of the three tools wins: they come last.
ALL_TOOLS: Mapping[str, Tool] = MappingProxyType({**tool_table.TOOLS, **AGENT_TOOLS})
_CURSOR_SCHEMA = {"type": "string"}
_INSTRUCTIONS = (
    "The skills, tools, tables and documents of this machine. Before a task, and when you lack a "
    "tool or instructions, call search_capabilities with the task in a sentence; read what fits "
    "with read_capability before you use it. If nothing fits, go on without."
)
_INSTRUCTIONS_OF_OTHERS = (
    "Finds the few capabilities (tools, skills, tables, documents) that a task needs. Ask before "
    "the first step."
)


def select_tools(names: Sequence[str]) -> tuple[str, ...]:
    """The names of the tools with these names, aliases or groups, several by comma; `all` for
    every tool, and none for the three that an agent needs. Raises UsageError, with the nearest
    names, for an unknown one.
    """
    requested = [name.strip() for text in names for name in text.split(",") if name.strip()]
    selected: list[str] = [] if requested else list(AGENT_TOOLS)
    for name in requested:
        selected += _expand_name(name)
    return tuple(dict.fromkeys(selected))


def find_run_tool(names: Sequence[str]) -> str:
    """The first tool that runs capabilities among these names, not in groups; "" for none."""
    typed_names = [name.strip() for text in names for name in text.split(",")]
    return next((name for name in typed_names if name in RUN_TOOLS), "")


def needs_index(names: Collection[str], pins: Sequence[str]) -> bool:
    """Whether the list of these tools depends on the index."""
    return bool(pins) or not AGENT_TOOLS.keys() >= {*names}


def _expand_name(name: str) -> list[str]:
    """The tools that a name of the option means."""
    if name == EVERY_TOOL:
        return [*AGENT_TOOLS, *tool_table.TOOLS]
    if members := [tool.name for tool in ALL_TOOLS.values() if tool.group == name]:
        return members
    if tool := AGENT_TOOLS.get(name) or tool_table.find_tool(name):
        return [tool.name]
    groups = sorted({tool.group for tool in ALL_TOOLS.values()})
    aliases = [alias for tool in ALL_TOOLS.values() for alias in tool.aliases]
    near = nearest_names(name, [*ALL_TOOLS, *aliases, *groups, EVERY_TOOL])
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        f"there is no tool or group of tools {one_line(name, 80)!r}",
        f"{suggestion}groups: {', '.join([*groups, EVERY_TOOL])}; "
        "capdisc tools --all --names lists the tools",
    )


def server_instructions(names: Collection[str]) -> str:
    """What clients tell their model about a server that offers these tools."""
    has_search = AGENT_TOOLS.keys() - RUN_TOOLS <= set(names)
    return _INSTRUCTIONS if has_search else _INSTRUCTIONS_OF_OTHERS


@frozen(kw_only=True)
class ToolOffer:
    """The tools as `tools/list` of MCP has them; those of them that are pinned capabilities, by
    the name there; and the pins that the index does not have.
    """

    documents: list[JsonObject]
    pinned: Mapping[str, Definition]
    missing: Sequence[str]


def offer_tools(
    names: Collection[str], ctx: ToolContext | None, pins: Sequence[str] = ()
) -> ToolOffer:
    """The tools of these names and the pinned capabilities. Of every tool there is, those without
    data in the index are left out. Without an index (None), those that search.
    """
    definitions = [define_tool(tool) for tool in AGENT_TOOLS.values() if tool.name in names]
    if ctx is not None:
        is_every_tool = ALL_TOOLS.keys() <= set(names) | RUN_TOOLS
        definitions += [
            definition
            for definition in tool_table.discovery_definitions(ctx, hidden=not is_every_tool)
            if definition.name in names
        ]
    else:
        definitions += [
            define_tool(tool_table.TOOLS[name]) for name in _WITHOUT_INDEX if name in names
        ]
    pinned, missing = tool_table.pinned_definitions(ctx, pins) if ctx else ([], pins)
    value, names_by_id = encode_definitions("mcp", [*definitions, *pinned])
    pinned_by_name = {names_by_id[definition.id]: definition for definition in pinned}
    always_loaded = AGENT_TOOLS.keys() | pinned_by_name.keys()
    return ToolOffer(
        documents=[_complete_document(document, always_loaded) for document in value["tools"]],
        pinned=pinned_by_name,
        missing=missing,
    )


def _complete_document(document: JsonObject, always_loaded: Set[str]) -> JsonObject:
    """The definition with a title, and with the cursor that every tool takes over MCP."""
    schema = document["inputSchema"]
    properties = {**schema.get("properties", {})}
    properties.setdefault("cursor", _CURSOR_SCHEMA)
    # Claude Code hides tools of servers from its model otherwise; these few are there to find
    # others.
    meta = {"_meta": {"anthropic/alwaysLoad": True}} if document["name"] in always_loaded else {}
    return {
        "title": readable_title(document["name"]),
        **document,
        "inputSchema": {**schema, "properties": properties},
        **meta,
    }
