"""Which functions a model is offered: the few that find the others, or all; with a wish, what fits it."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.errors import UsageError
from capdisc_indexer.text import one_line
from capdisc_indexer.tools import BRIDGE, TOOLS, is_listed, tool_named
from capdisc_indexer.tools.definitions.made import is_callable, of_capability, of_tool
from capdisc_indexer.tools.definitions.values import Definition
from capdisc_indexer.tools.lookup import spelt
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Descriptor, Query


def bridge(desk: Desk) -> list[Definition]:
    """The tools that find everything else."""
    return [of_tool(desk, TOOLS[name], True) for name in BRIDGE]


def discovery(desk: Desk, hidden: bool) -> list[Definition]:
    """All discovery tools that can tell something here; with `hidden` the others too, marked as not available."""
    listed = {name: is_listed(desk, tool) for name, tool in TOOLS.items()}
    return [of_tool(desk, TOOLS[name], there) for name, there in listed.items() if there or hidden]


def everything(desk: Desk) -> list[Definition]:
    """All capabilities that can be called, by id."""
    heads = desk.index.documents.everything(Query(texts=()))
    whole = (desk.index.whole(head) for head in heads if not head.get("hidden"))
    return offered(desk, [descriptor for descriptor in whole if is_callable(descriptor)])


def by_ids(desk: Desk, ids: Sequence[str]) -> list[Descriptor]:
    """The capabilities of these ids that there still are, in order."""
    heads = desk.index.documents.passing(list(ids), Query(texts=()))
    return [desk.index.whole(heads[each]) for each in ids if each in heads]


def offered(desk: Desk, descriptors: Sequence[Descriptor]) -> list[Definition]:
    """Those of them that can be called, as definitions, each once."""
    unique = {descriptor.id: descriptor for descriptor in descriptors if is_callable(descriptor)}
    return [of_capability(each, desk.available(_head(each))) for each in unique.values()]


def _head(descriptor: Descriptor) -> dict[str, object]:
    names = ("available", "secrets", "bins", "systems")
    return {name: getattr(descriptor, name) for name in names}


def by_names(desk: Desk, names: Sequence[str]) -> list[Definition]:
    """The discovery tools and capabilities of these names. Raises UsageError for a name that nothing has, and for one
    that stands for something that cannot be called."""
    return [_by_name(desk, name) for name in dict.fromkeys(names)]


def _by_name(desk: Desk, name: str) -> Definition:
    if tool := tool_named(name):
        return of_tool(desk, tool, is_listed(desk, tool))
    heads = spelt(desk, name)
    descriptor = desk.index.whole(heads[0]) if len(heads) == 1 else desk.index.descriptor(name)
    if not is_callable(descriptor):
        what = f"{one_line(descriptor.id, 100)} is no function: it has no schema"
        raise UsageError(what, "capdisc show prints it; an agent reads it with get_skill or get_document")
    return offered(desk, [descriptor])[0]
