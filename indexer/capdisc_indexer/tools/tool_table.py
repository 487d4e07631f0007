"""The table of discovery tools, and the call of one by its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from capdisc_indexer.model.json_types import Arguments
from capdisc_indexer.plugins import registry
from capdisc_indexer.plugins.plugin import Plugin
from capdisc_indexer.tools.call_binding import BoundCall, bind_arguments, match_tool
from capdisc_indexer.tools.tool_types import Tool, ToolAnswer, ToolContext

CORE = Plugin(
    name="core",
    tools=(
        "capdisc_indexer.tools.discovery_tools:TOOLS",
        "capdisc_indexer.tools.execute_tool:TOOLS",
        "capdisc_indexer.tools.skill_tools:TOOLS",
    ),
)
# The order in which agents see the groups; those of other plug-ins follow.
_GROUPS = (
    "discovery", "entities", "schema", "apis", "documents", "skills", "tables", "content", "facts"
)  # fmt: skip


def _load_tools() -> Mapping[str, Tool]:
    """All tools by name. Of two with one name the first counts; a group that cannot be loaded is
    missing, and `doctor` says why.
    """
    tools: dict[str, Tool] = {}
    for plugin in (CORE, *registry.load_plugins()):
        for reference in plugin.tools:
            try:
                group = registry.load_attribute(reference)
            except Exception:  # the code of others, which may raise anything
                if plugin is CORE:
                    raise
                continue
            for tool in group:
                tools.setdefault(tool.name, tool)
    return tools


def _rank_group(tool: Tool) -> int:
    return _GROUPS.index(tool.group) if tool.group in _GROUPS else len(_GROUPS)


TOOLS: Mapping[str, Tool] = MappingProxyType(
    {tool.name: tool for tool in sorted(_load_tools().values(), key=_rank_group)}
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
