"""The discovery tools: what an agent asks a catalogue, each a function from arguments to an
answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.tools import (
    api_tools,
    content_tools,
    discovery_tools,
    document_tools,
    entity_tools,
    execute_tool,
    fact_tools,
    schema_tools,
    search_tool,
    skill_tools,
    stats_tools,
    table_tools,
)
from capdisc_indexer.tools.argument_binding import BoundCall, bind_arguments, match_tool
from capdisc_indexer.tools.tool_types import Tool, ToolAnswer, ToolContext

__all__ = [
    "BRIDGE_TOOLS",
    "TOOLS",
    "BoundCall",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "bind_call",
    "call_tool",
    "find_tool",
    "is_listed",
]

_FAMILIES = (
    discovery_tools.TOOLS,
    search_tool.TOOLS,
    execute_tool.TOOLS,
    entity_tools.TOOLS,
    schema_tools.TOOLS,
    api_tools.TOOLS,
    document_tools.TOOLS,
    skill_tools.TOOLS,
    skill_tools.LINK_TOOLS,
    table_tools.TOOLS,
    table_tools.ROW_TOOLS,
    content_tools.TOOLS,
    stats_tools.TOOLS,
    fact_tools.TOOLS,
)
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for family in _FAMILIES for tool in family}
)
# What an agent is given at first when the catalogue is too large to be listed.
BRIDGE_TOOLS = ("discover_capabilities", "tool_search", "search_tool", "execute_tool")


def call_tool(ctx: ToolContext, name: str, arguments: Arguments) -> ToolAnswer:
    """The tool's answer, ready to be JSON. Raises UsageError for a name that no tool has, with the
    nearest ones, and for arguments that do not fit, with all that is wrong with them; other errors
    as the tool meets them.
    """
    ready = bind_call(name, arguments)
    return ready.tool.answer(ctx, ready.arguments)


def bind_call(name: str, arguments: Any) -> BoundCall:
    """The tool with its arguments, checked and filled; a name of a parameter as others spell it is
    understood, and `notices` says so. Raises what `call` raises before any tool answers.
    """
    return bind_arguments(TOOLS, name, arguments)


def find_tool(name: str) -> Tool | None:
    """The tool of this name or alias, however it is spelt; None where there is none."""
    return match_tool(TOOLS, name)


def is_listed(ctx: ToolContext, tool: Tool) -> bool:
    """Whether the index holds anything that the tool could tell about."""
    return not tool.kinds or not set(tool.kinds).isdisjoint(ctx.index.overview["kinds"])
