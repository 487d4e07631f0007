"""Which capability a name means, however it is spelt; and the error where it means none, or
several.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.text.normalization import one_line, space_identifiers
from capdisc_indexer.tools.capability_search import headers_of_kinds
from capdisc_indexer.tools.metadata_values import capability_metadata, text_value
from capdisc_indexer.tools.tool_types import ToolContext
from capdisc_indexer.validation.arguments.schema_walk import compact_name, nearest_names

# A name that is spelt in a way that the index has no alias for is searched for by its words; so
# many hits are compared.
_MAX_NEIGHBOURS = 50
# The keys under which a loader names what a capability is a part of.
CONTAINER_KEYS = ("database", "api", "document", "server")


def local_name(identifier: str) -> str:
    """The id without its kind, and without the suffix that tells the capabilities of two files
    apart.

    >>> local_name("table:chinook.tracks@b")
    'chinook.tracks'
    """
    return identifier.partition(":")[2].partition("@")[0]


def name_without_kind(name_or_id: str) -> str:
    """The name as it is; of an id, its local name."""
    return local_name(name_or_id) if ":" in name_or_id else name_or_id


def find_by_name(ctx: ToolContext, name: str, kinds: Sequence[str] = ()) -> list[CapabilityHeader]:
    """The headers of all capabilities whose id, name or title is this name, without regard to case
    and separators; by id. Where the name is exactly an id, that one alone.
    """
    forms = dict.fromkeys(
        [name, space_identifiers(name), compact_name(name), *(f"{kind}:{name}" for kind in kinds)]
    )
    headers = {
        header["id"]: header for form in forms for header in ctx.index.documents.by_alias(form)
    }
    if not headers:
        headers = {header["id"]: header for header in _similar_names(ctx, name)}
    candidates = [header for header in headers.values() if not kinds or header["kind"] in kinds]
    exact = [header for header in candidates if header["id"] == name]
    return exact or sorted(candidates, key=lambda header: header["id"])


def _similar_names(ctx: ToolContext, name: str) -> Iterable[CapabilityHeader]:
    """The headers whose name differs in separators alone, which the index of aliases does not
    find.
    """
    documents, form = ctx.index.documents, compact_name(name)
    if not form:
        return
    terms = documents.analyse(" ".join(documents.words(name)))
    for _, header in documents.search(terms, Query(texts=()), _MAX_NEIGHBOURS):
        names = (header["name"], header.get("title", ""), local_name(header["id"]), header["id"])
        if form in map(compact_name, names):
            yield header


def find_capability(ctx: ToolContext, name: str, *kinds: str, within: str = "") -> Descriptor:
    """The one capability of these kinds with this name, as a part of `within` where that is given.

    Raises UsageError with the nearest names where there is none, and with all ids where there are
    several.
    """
    forms = [f"{within}.{name}", name] if within else [name]
    for form in forms:
        descriptors = [
            ctx.index.full_descriptor(header) for header in find_by_name(ctx, form, kinds)
        ]
        matches = [
            descriptor
            for descriptor in descriptors
            if not within or is_part_of(descriptor, within)
        ]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise _ambiguous_error(kinds[0], name, [descriptor.id for descriptor in matches])
    raise _unknown_error(ctx, kinds, name, within)


def is_part_of(descriptor: Descriptor, container: str) -> bool:
    """Whether the capability belongs to the database, API, document or server of this name or
    id.
    """
    metadata = capability_metadata(descriptor)
    containers = [text_value(metadata, key) for key in CONTAINER_KEYS]
    names = [name_without_kind(owner) for owner in containers if owner] or [
        descriptor.category,
        local_name(descriptor.id).rpartition(".")[0],
    ]
    return compact_name(container.partition(":")[2] or container) in map(compact_name, names)


def container_name(descriptor: Descriptor) -> str:
    """The name of what the capability is a part of."""
    metadata = capability_metadata(descriptor)
    container = next((name for key in CONTAINER_KEYS if (name := text_value(metadata, key))), "")
    return (
        name_without_kind(container)
        or local_name(descriptor.id).rpartition(".")[0]
        or descriptor.category
    )


def _ambiguous_error(kind: str, name: str, ids: list[str]) -> UsageError:
    listed_ids = ", ".join(one_line(identifier, 80) for identifier in ids[:10])
    return UsageError(
        f"more than one {kind} is called {one_line(name, 80)!r}", f"say which: {listed_ids}"
    )


def _unknown_error(ctx: ToolContext, kinds: Sequence[str], name: str, within: str) -> UsageError:
    headers = list(headers_of_kinds(ctx, *kinds))
    names = [header["name"] for header in headers]
    near = nearest_names(name, [*names, *(local_name(header["id"]) for header in headers)])
    where = f" in {one_line(within, 80)}" if within else ""
    hint = (
        f"did you mean: {', '.join(one_line(candidate, 80) for candidate in near)}"
        if near
        else f"run: capdisc list --kind {kinds[0]}"
    )
    return UsageError(f"there is no {kinds[0]} {one_line(name, 80)!r}{where}", hint)
