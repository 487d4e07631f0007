"""The table of discovery tools, and the call of one by its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
    skill_tools,
    table_tools,
)
from capdisc_indexer.tools.call_binding import BoundCall, bind_arguments, match_tool
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
    execute_tool.TOOLS,
    entity_tools.TOOLS,
    schema_tools.TOOLS,
    api_tools.TOOLS,
    document_tools.TOOLS,
    skill_tools.TOOLS,
    table_tools.TOOLS,
    content_tools.TOOLS,
    fact_tools.TOOLS,
)
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for family in _FAMILIES for tool in family}
)
# The tools that an agent gets where the catalogue is too large to be listed.
# One search, which lists all, finds keywords or prints one in full, and what calls the others.
BRIDGE_TOOLS = ("search_tool", "execute_tool")


def call_tool(ctx: ToolContext, name: str, arguments: Arguments) -> ToolAnswer:
    """The tool's answer. Raises UsageError for a name that no tool has, with the nearest ones, and
    for arguments that do not fit, with everything that is wrong with them; other errors as the
    tool raises them.
    """
    call = bind_call(name, arguments)
    return call.tool.answer(ctx, call.arguments)


def bind_call(name: str, arguments: object) -> BoundCall:
    """The tool with its arguments, checked and with defaults. A parameter may have a name that
    other registries give it; `notices` says so. Raises UsageError as `call_tool`.
    """
    return bind_arguments(TOOLS, name, arguments)


def find_tool(name: str) -> Tool | None:
    """The tool of this name or alias, without regard to case and separators."""
    return match_tool(TOOLS, name)


def is_listed(ctx: ToolContext, tool: Tool) -> bool:
    """Whether the index holds anything that the tool could answer from."""
    return not tool.kinds or not set(tool.kinds).isdisjoint(ctx.index.overview["kinds"])
