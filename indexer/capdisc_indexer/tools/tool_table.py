"""The table of discovery tools: the call of one by its name, and which functions a model is
offered (the few that find the others, all, those of some names, or those that fit a need).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.records import to_record
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.plugins import registry
from capdisc_indexer.plugins.plugin import Plugin
from capdisc_indexer.text.embedding_text import truncate_stem
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.call_binding import BoundCall, bind_arguments, match_tool
from capdisc_indexer.tools.capability_lookup import WIDE_LIMIT, find_by_name, headers_of_kinds
from capdisc_indexer.tools.discovery_tools import search_tools
from capdisc_indexer.tools.function_definitions import (
    Definition,
    define_capability,
    define_tool,
    is_callable,
)
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


SEARCH_TOOL, META_TOOL = "tool_search", "discover_capabilities"
# The tools that read data that is found and is not a function, by its kind; `search_tool` reads
# the others in full.
_READERS: Mapping[str, tuple[str, ...]] = {
    "table": ("get_table_schema", "get_table_rows", "search_content"),
    "section": ("search_content", "get_document_section"),
    "document": ("search_content", "get_document"),
    "operation": ("get_operation_details",),
    "api": ("list_operations",),
}
# Words in the names of tools that say nothing of a question.
_COMMON_WORDS = frozenset("get list search find add all by for in of and table tables".split())


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


# Which functions a model is offered.


def bridge_definitions(ctx: ToolContext, of_turn: bool) -> list[Definition]:
    """The tools that find everything else; with what was found for a turn, also the one that finds
    more of it.
    """
    names = (*BRIDGE_TOOLS, META_TOOL) if of_turn else BRIDGE_TOOLS
    return [_define_tool(ctx, TOOLS[name]) for name in names]


def discovery_definitions(ctx: ToolContext, hidden: bool) -> list[Definition]:
    """The discovery tools that can answer from this index; with `hidden` also the others, marked
    as not available.
    """
    definitions = [_define_tool(ctx, tool) for tool in TOOLS.values()]
    return [definition for definition in definitions if definition.is_available or hidden]


def _define_tool(ctx: ToolContext, tool: Tool) -> Definition:
    """The definition with the kinds of the index, which says whether it has data for the tool."""
    return define_tool(tool, ctx.index.overview["kinds"], is_listed(ctx, tool))


def capability_definitions(ctx: ToolContext) -> list[Definition]:
    """All capabilities that can be called, by id."""
    return _define_headers(ctx, headers_of_kinds(ctx))


def define_ids(ctx: ToolContext, ids: Sequence[str]) -> list[Definition]:
    """The definitions of those capabilities of these ids that the index holds and that can be
    called, in the order of the ids.
    """
    headers = ctx.index.documents.headers_for(list(ids), Query(texts=()))
    return _define_headers(ctx, [headers[key] for key in ids if key in headers])


def _define_headers(
    ctx: ToolContext, headers: Iterable[CapabilityHeader], limit: int | None = None
) -> list[Definition]:
    """The definitions of the first of these capabilities that can be called, each once."""
    full = (ctx.index.full_descriptor(header) for header in headers)
    first = islice(filter(is_callable, full), limit)
    unique = {descriptor.id: descriptor for descriptor in first}
    return [_define_with_availability(ctx, descriptor) for descriptor in unique.values()]


def _define_with_availability(ctx: ToolContext, descriptor: Descriptor) -> Definition:
    header, _ = to_record(descriptor)
    return define_capability(descriptor, ctx.available(header))


def pinned_definitions(
    ctx: ToolContext, names: Sequence[str]
) -> tuple[list[Definition], list[str]]:
    """The definitions of those of these capabilities that can be called, which stand in every
    list, and the names that the index does not have.
    """
    headers = {name: ctx.index.resolve(name) for name in names}
    missing = [name for name, header in headers.items() if header is None]
    return _define_headers(ctx, filter(None, headers.values())), missing


def find_callable(ctx: ToolContext, query: str, limit: int) -> list[Definition]:
    """The functions that the tool search finds for the query, best first, at most `limit`."""
    search_result = search_tools(ctx, query, WIDE_LIMIT)
    return _define_headers(ctx, (header for _, header in search_result.pairs), limit)


def reader_definitions(ctx: ToolContext, text: str, kinds: Sequence[str]) -> list[Definition]:
    """The tools that read what a question found: those of its kinds, and first those whose name
    shares a word with it (`get_compatibility_tables` for a question about compatibility).

    What was found decides, in place of fixed lists of words: a word of a question says nothing
    about what this index holds.
    """
    stems = set(truncate_stem(text).split())
    named = [
        name
        for name, tool in TOOLS.items()
        if not set(tool.kinds).isdisjoint(_READERS.keys() & set(kinds))
        and any(
            word not in _COMMON_WORDS and set(truncate_stem(word).split()) & stems
            for word in name.lower().split("_")
        )
    ]
    readers = [name for kind in kinds for name in _READERS.get(kind, ())]
    return [
        _define_tool(ctx, TOOLS[name])
        for name in dict.fromkeys([*named, *readers])
        if name in TOOLS and is_listed(ctx, TOOLS[name])
    ]


def search_definition(ctx: ToolContext) -> Definition:
    """The tool that finds definitions where the others are deferred."""
    return _define_tool(ctx, TOOLS[SEARCH_TOOL])


def definitions_by_name(ctx: ToolContext, names: Sequence[str]) -> list[Definition]:
    """The discovery tools and capabilities of these names. Raises UsageError for a name that
    nothing has, and for a capability that cannot be called.
    """
    return [_definition_by_name(ctx, name) for name in dict.fromkeys(names)]


def _definition_by_name(ctx: ToolContext, name: str) -> Definition:
    if tool := find_tool(name):
        return _define_tool(ctx, tool)
    headers = find_by_name(ctx, name)
    descriptor = (
        ctx.index.full_descriptor(headers[0]) if len(headers) == 1 else ctx.index.descriptor(name)
    )
    if not is_callable(descriptor):
        raise UsageError(
            f"{one_line(descriptor.id, 100)} cannot be offered as a function: it has no input schema",
            "capdisc show prints it; an agent reads it with get_skill or get_document",
        )
    return _define_with_availability(ctx, descriptor)
