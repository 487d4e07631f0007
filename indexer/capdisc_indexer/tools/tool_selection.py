"""Which functions a model is offered: the few that find the others, or all; with a wish, what fits
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools import BRIDGE_TOOLS, TOOLS, find_tool, is_listed
from capdisc_indexer.tools.definitions.builders import (
    Definition,
    define_capability,
    define_tool,
    is_callable,
)
from capdisc_indexer.tools.name_lookup import find_by_name
from capdisc_indexer.tools.tool_types import ToolContext


def bridge_definitions(ctx: ToolContext) -> list[Definition]:
    """The tools that find everything else."""
    return [define_tool(ctx, TOOLS[name], True) for name in BRIDGE_TOOLS]


def discovery_definitions(ctx: ToolContext, hidden: bool) -> list[Definition]:
    """All discovery tools that can tell something here; with `hidden` the others too, marked as
    not available.
    """
    listed = {name: is_listed(ctx, tool) for name, tool in TOOLS.items()}
    return [
        define_tool(ctx, TOOLS[name], there) for name, there in listed.items() if there or hidden
    ]


def capability_definitions(ctx: ToolContext) -> list[Definition]:
    """All capabilities that can be called, by id."""
    headers = ctx.index.documents.all_headers(Query(texts=()))
    descriptors = (
        ctx.index.full_descriptor(header) for header in headers if not header.get("hidden")
    )
    return define_callable(
        ctx, [descriptor for descriptor in descriptors if is_callable(descriptor)]
    )


def load_descriptors(ctx: ToolContext, ids: Sequence[str]) -> list[Descriptor]:
    """The capabilities of these ids that there still are, in order."""
    headers = ctx.index.documents.headers_for(list(ids), Query(texts=()))
    return [
        ctx.index.full_descriptor(headers[identifier])
        for identifier in ids
        if identifier in headers
    ]


def define_callable(ctx: ToolContext, descriptors: Sequence[Descriptor]) -> list[Definition]:
    """Those of them that can be called, as definitions, each once."""
    unique = {descriptor.id: descriptor for descriptor in descriptors if is_callable(descriptor)}
    return [
        define_capability(descriptor, ctx.available(_availability_header(descriptor)))
        for descriptor in unique.values()
    ]


def _availability_header(descriptor: Descriptor) -> dict[str, object]:
    names = ("available", "secrets", "bins", "systems")
    return {name: getattr(descriptor, name) for name in names}


def definitions_by_name(ctx: ToolContext, names: Sequence[str]) -> list[Definition]:
    """The discovery tools and capabilities of these names. Raises UsageError for a name that
    nothing has, and for one that stands for something that cannot be called.
    """
    return [_definition_by_name(ctx, name) for name in dict.fromkeys(names)]


def _definition_by_name(ctx: ToolContext, name: str) -> Definition:
    if tool := find_tool(name):
        return define_tool(ctx, tool, is_listed(ctx, tool))
    headers = find_by_name(ctx, name)
    descriptor = (
        ctx.index.full_descriptor(headers[0]) if len(headers) == 1 else ctx.index.descriptor(name)
    )
    if not is_callable(descriptor):
        what = f"{one_line(descriptor.id, 100)} is no function: it has no schema"
        raise UsageError(
            what, "capdisc show prints it; an agent reads it with get_skill or get_document"
        )
    return define_callable(ctx, [descriptor])[0]
