"""Capabilities for a wish in words, and those of one kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.tool_types import ToolContext

# What a loader kept about a table, an API or a document beside the text, whatever shape it came
# in.
#
# Loaders of data keep it in `extra`; who writes a manifest by hand may give the same keys below
# `metadata`.

DESCRIPTION_CHARACTERS = 300
CELL_CHARACTERS = 500


def capability_metadata(descriptor: Descriptor) -> dict[str, Any]:
    """All that is kept, what a loader found before what an author wrote."""
    written = descriptor.extra.get("metadata")
    return {**(written if isinstance(written, Mapping) else {}), **descriptor.extra}


def text_value(facts: Mapping[str, Any], key: str) -> str:
    """The text of one line under a key; empty where there is none."""
    value = facts.get(key)
    return (
        one_line(str(value))
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        else ""
    )


def int_value(facts: Mapping[str, Any], key: str) -> int | None:
    """The whole number under a key."""
    value = facts.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def record_list(facts: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The mappings in the list under a key."""
    value = facts.get(key)
    return (
        [record for record in value if isinstance(record, Mapping)]
        if isinstance(value, (list, tuple))
        else []
    )


def mapping_value(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key, or an empty one."""
    value = facts.get(key)
    return value if isinstance(value, Mapping) else {}


def text_list(facts: Mapping[str, Any], key: str) -> list[str]:
    """The texts under a key; one text is split at its commas."""
    value = facts.get(key)
    parts = (
        value.split(",")
        if isinstance(value, str)
        else value
        if isinstance(value, (list, tuple))
        else ()
    )
    return [one_line(str(part)) for part in parts if str(part).strip()]


def cell_value(value: Any) -> Any:
    """A value of a table as JSON has it: long texts cut, anything inside it as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    shown = strip_controls(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    )
    return shown if len(shown) <= CELL_CHARACTERS else shown[: CELL_CHARACTERS - 1] + "…"


def short_description(header: CapabilityHeader | Descriptor) -> str:
    """The description on one line."""
    description = header.description if isinstance(header, Descriptor) else header["description"]
    return one_line(description, DESCRIPTION_CHARACTERS)


# How many are looked at where hits are chosen by something that the index does not filter by.
WIDE_LIMIT = 200
MIN_SHOWN_RELEVANCE = 0.05


@frozen(kw_only=True)
class SearchResult:
    """A ranking with the heads of its hits."""

    ranking: Ranking
    heads: Mapping[str, CapabilityHeader]

    @property
    def pairs(self) -> list[tuple[Hit, CapabilityHeader]]:
        """The hits, best first, each with its head."""
        return [(hit, self.heads[hit.id]) for hit in self.ranking.hits]


def search_capabilities(
    ctx: ToolContext,
    words: str,
    limit: int,
    kinds: Sequence[str] = (),
    category: str = "",
    mode: str | None = None,
) -> SearchResult:
    """What fits the words, best first. Raises UsageError for a kind or category that nothing here
    has.
    """
    check_filters(ctx, kinds, category)
    chosen = mode or ctx.mode
    encoder = None if chosen == "lexical" else ctx.encoder()
    query = Query(
        texts=(words,), kinds=tuple(kinds), categories=(category,) if category else (), limit=limit
    )
    ranking = search_index(ctx.index, query, encoder, chosen, ctx.available)
    # Hits of no relevance hold the place of an answer, and are none.
    hits = tuple(hit for hit in ranking.hits if hit.relevance >= MIN_SHOWN_RELEVANCE or hit.via)
    headers = ctx.index.documents.headers_for([hit.id for hit in hits], Query(texts=()))
    return SearchResult(ranking=replace(ranking, hits=hits), heads=headers)


def select_hits(
    search_result: SearchResult,
    limit: int,
    is_wanted: Callable[[Descriptor], bool],
    ctx: ToolContext,
) -> list[tuple[Hit, Descriptor]]:
    """The first hits that are wanted, each in full."""
    full_hits = ((hit, ctx.index.full_descriptor(header)) for hit, header in search_result.pairs)
    selected = [(hit, descriptor) for hit, descriptor in full_hits if is_wanted(descriptor)]
    return selected[:limit]


def check_filters(ctx: ToolContext, kinds: Sequence[str], category: str) -> None:
    """Raises UsageError for a kind or category that nothing here has."""
    facts = ctx.index.overview
    for kind in kinds:
        if len(kinds) == 1 and kind not in facts["kinds"]:
            raise UsageError(
                f"nothing here is of the kind {one_line(kind, 40)!r}",
                f"here: {_join_names(facts['kinds'])}",
            )
    categories = {entry["category"].lower() for entry in facts["categories"]}
    if category and category.lower() not in categories:
        raise UsageError(
            f"nothing here has the category {one_line(category, 40)!r}",
            f"here: {_join_names(categories)}",
        )


def _join_names(names: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    sorted_names = sorted(one_line(name, 40) for name in names)
    return (
        ", ".join(sorted_names[:20])
        + (f" and {len(sorted_names) - 20} more" if len(sorted_names) > 20 else "")
        or "nothing yet"
    )


def headers_of_kinds(ctx: ToolContext, *kinds: str) -> Iterator[CapabilityHeader]:
    """The heads of all capabilities of these kinds that are not hidden, by id."""
    headers = ctx.index.documents.all_headers(Query(texts=(), kinds=kinds))
    return (header for header in headers if not header.get("hidden"))


def hit_row(ctx: ToolContext, hit: Hit, header: CapabilityHeader) -> dict[str, Any]:
    """A hit as most answers show it; relevance has two digits."""
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "description": short_description(header),
        "category": header.get("category") or UNCATEGORISED,
        "relevance": round(hit.relevance, 2),
        "available": ctx.available(header),
    }
