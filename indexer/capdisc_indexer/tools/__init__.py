"""The discovery tools: what an agent asks a catalogue, each a function from arguments to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from capdisc_indexer.tools import (
    api_tools,
    content_tools,
    discovering,
    document_tools,
    entity_tools,
    executing,
    fact_tools,
    figure_tools,
    row_tools,
    schema_tools,
    searching,
    skill_link_tools,
    skill_tools,
    table_tools,
)
from capdisc_indexer.tools.preparing import Prepared, named, prepared
from capdisc_indexer.tools.values import Desk, Tool, ToolAnswer

__all__ = ["BRIDGE", "TOOLS", "Desk", "Prepared", "Tool", "ToolAnswer", "call", "is_listed", "prepare", "tool_named"]

_FAMILIES = (
    discovering.TOOLS,
    searching.TOOLS,
    executing.TOOLS,
    entity_tools.TOOLS,
    schema_tools.TOOLS,
    api_tools.TOOLS,
    document_tools.TOOLS,
    skill_tools.TOOLS,
    skill_link_tools.TOOLS,
    table_tools.TOOLS,
    row_tools.TOOLS,
    content_tools.TOOLS,
    figure_tools.TOOLS,
    fact_tools.TOOLS,
)
TOOLS: Mapping[str, Tool] = MappingProxyType({tool.name: tool for family in _FAMILIES for tool in family})
# What an agent is given at first when the catalogue is too large to be listed.
BRIDGE = ("discover_capabilities", "tool_search", "search_tool", "execute_tool")


def call(desk: Desk, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The tool's answer, ready to be JSON. Raises UsageError for a name that no tool has, with the nearest ones, and
    for arguments that do not fit, with all that is wrong with them; other errors as the tool meets them."""
    ready = prepare(name, arguments)
    return ready.tool.answer(desk, ready.arguments)


def prepare(name: str, arguments: Any) -> Prepared:
    """The tool with its arguments, checked and filled; a name of a parameter as others spell it is understood, and
    `notices` says so. Raises what `call` raises before any tool answers."""
    return prepared(TOOLS, name, arguments)


def tool_named(name: str) -> Tool | None:
    """The tool of this name or alias, however it is spelt; None where there is none."""
    return named(TOOLS, name)


def is_listed(desk: Desk, tool: Tool) -> bool:
    """Whether the index holds anything that the tool could tell about."""
    return not tool.kinds or not set(tool.kinds).isdisjoint(desk.index.meta("overview")["kinds"])
