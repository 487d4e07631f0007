"""One capability by its name, however it is spelt, and what to say when there is none or more than
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Query
from capdisc_indexer.text.normalization import one_line, space_identifiers
from capdisc_indexer.tools.capability_search import (
    capability_metadata,
    headers_of_kinds,
    text_value,
)
from capdisc_indexer.tools.tool_types import ToolContext
from capdisc_indexer.validation.arguments.schema_walk import compact_name, nearest_names

# A name that is spelt in yet another way shares its words with the real one.
_MAX_NEIGHBOURS = 50
# Under which keys a loader says what a capability is a part of.
CONTAINER_KEYS = ("database", "api", "document", "server")


def local_name(identifier: str) -> str:
    """The id without its kind, and without the mark that tells two files' capabilities apart.

    >>> local_name("table:chinook.tracks@b")
    'chinook.tracks'
    """
    return identifier.partition(":")[2].partition("@")[0]


def find_by_name(ctx: ToolContext, name: str, kinds: Sequence[str] = ()) -> list[CapabilityHeader]:
    """The heads of all capabilities that the name may mean: their id, name or title, without
    regard to case and separators. An id that is exactly so is the only one.
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
    """Those whose name differs in separators alone; an index of names has one form of each."""
    documents, form = ctx.index.documents, compact_name(name)
    terms = documents.analyse(" ".join(documents.words(name)))
    for _, header in documents.search(terms, Query(texts=()), _MAX_NEIGHBOURS) if form else ():
        if form in {
            compact_name(header["name"]),
            compact_name(header.get("title", "")),
            compact_name(local_name(header["id"])),
            compact_name(header["id"]),
        }:
            yield header


def find_capability(ctx: ToolContext, name: str, *kinds: str, within: str = "") -> Descriptor:
    """The one capability of these kinds with this name; `within` says what it is a part of. Raises
    UsageError naming the nearest where there is none, and all of them where there are several.
    """
    forms = [f"{within}.{name}", name] if within else [name]
    for form in forms:
        descriptors = [
            ctx.index.full_descriptor(header) for header in find_by_name(ctx, form, kinds)
        ]
        matches = [
            descriptor for descriptor in descriptors if not within or is_part_of(descriptor, within)
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
    facts, form = (
        capability_metadata(descriptor),
        compact_name(container.partition(":")[2] or container),
    )
    owners = [text_value(facts, key) for key in CONTAINER_KEYS]
    owner_names = {
        compact_name(local_name(owner) if ":" in owner else owner) for owner in owners if owner
    }
    return form in (
        owner_names
        or {
            compact_name(descriptor.category),
            compact_name(local_name(descriptor.id).rpartition(".")[0]),
        }
    )


def container_name(descriptor: Descriptor) -> str:
    """The name of what the capability is a part of."""
    facts = capability_metadata(descriptor)
    owner = next((owner for key in CONTAINER_KEYS if (owner := text_value(facts, key))), "")
    return (
        (local_name(owner) if ":" in owner else owner)
        or local_name(descriptor.id).rpartition(".")[0]
        or descriptor.category
    )


def _ambiguous_error(kind: str, name: str, ids: list[str]) -> UsageError:
    listed = ", ".join(one_line(identifier, 80) for identifier in ids[:10])
    return UsageError(
        f"more than one {kind} is called {one_line(name, 80)!r}", f"say which: {listed}"
    )


def _unknown_error(ctx: ToolContext, kinds: Sequence[str], name: str, within: str) -> UsageError:
    headers: list[CapabilityHeader] = list(headers_of_kinds(ctx, *kinds))
    close = nearest_names(
        name,
        [str(header["name"]) for header in headers]
        + [local_name(str(header["id"])) for header in headers],
    )
    where = f" in {one_line(within, 80)}" if within else ""
    hint = (
        f"did you mean: {', '.join(one_line(candidate, 80) for candidate in close)}"
        if close
        else _list_hint(kinds[0])
    )
    return UsageError(f"there is no {kinds[0]} {one_line(name, 80)!r}{where}", hint)


def _list_hint(kind: str) -> str:
    return f"run: capdisc list --kind {kind}"
