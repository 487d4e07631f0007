"""Which capabilities fit a text, or are of one kind: what every discovery tool begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypedDict

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.retrieval.query_rules import require_known_filters, select_shown_hits
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import ToolContext

DESCRIPTION_CHARACTERS = 300
# How many hits are searched for where a tool then filters by what the index cannot filter by.
WIDE_LIMIT = 200


@frozen(kw_only=True)
class SearchResult:
    """A ranking with the headers of its hits by id."""

    ranking: Ranking
    headers: Mapping[str, CapabilityHeader]

    @property
    def pairs(self) -> list[tuple[Hit, CapabilityHeader]]:
        """The hits with their headers, best first."""
        return [(hit, self.headers[hit.id]) for hit in self.ranking.hits]

    @property
    def confidence(self) -> float:
        """How sure the ranking is, 0..1 with two digits."""
        return round(self.ranking.confidence, 2)


def search_capabilities(
    ctx: ToolContext,
    text: str,
    limit: int,
    kinds: Sequence[str] = (),
    category: str = "",
    mode: str | None = None,
) -> SearchResult:
    """The capabilities that fit the text, best first. Raises UsageError for a kind or category
    that no capability of the index has.
    """
    check_filters(ctx, kinds, category)
    search_mode = mode or ctx.mode
    encoder = None if search_mode == "lexical" else ctx.encoder()
    query = Query(
        texts=(text,), kinds=tuple(kinds), categories=(category,) if category else (), limit=limit
    )
    ranking = search_index(ctx.index, query, encoder, search_mode, ctx.available)
    # A hit of no relevance fills up a ranking, and answers nothing.
    hits = tuple(select_shown_hits(ranking.hits))
    headers = ctx.index.documents.headers_for([hit.id for hit in hits], Query(texts=()))
    return SearchResult(ranking=replace(ranking, hits=hits), headers=headers)


def check_filters(ctx: ToolContext, kinds: Sequence[str], category: str) -> None:
    """Raises UsageError for a kind or category that no capability of the index has. Several kinds
    are not checked: they are alternatives.
    """
    alternatives = len(kinds) > 1
    require_known_filters(
        ctx.index.overview, () if alternatives else kinds, (category,) if category else ()
    )


def select_hits(
    search_result: SearchResult,
    limit: int,
    matches: Callable[[Descriptor], bool],
    ctx: ToolContext,
) -> list[tuple[Hit, Descriptor]]:
    """The first hits whose descriptor matches, at most `limit`."""
    full_hits = ((hit, ctx.index.full_descriptor(header)) for hit, header in search_result.pairs)
    selected = [(hit, descriptor) for hit, descriptor in full_hits if matches(descriptor)]
    return selected[:limit]


def headers_of_kinds(ctx: ToolContext, *kinds: str) -> Iterator[CapabilityHeader]:
    """The headers of all capabilities of these kinds that are not hidden, by id; without kinds, of
    all.
    """
    headers = ctx.index.documents.all_headers(Query(texts=(), kinds=kinds))
    return (header for header in headers if not header.get("hidden"))


def short_description(header: CapabilityHeader | Descriptor) -> str:
    """The description on one line, at most DESCRIPTION_CHARACTERS long."""
    description = header.description if isinstance(header, Descriptor) else header["description"]
    return one_line(description, DESCRIPTION_CHARACTERS)


class HitRow(TypedDict):
    """A hit as most answers show it; `relevance` is 0..1 with two digits."""

    id: str
    name: str
    kind: str
    description: str
    category: str
    relevance: float
    available: bool


def hit_row(ctx: ToolContext, hit: Hit, header: CapabilityHeader) -> HitRow:
    """The row of a hit."""
    return {
        "id": header["id"],
        "name": header["name"],
        "kind": header["kind"],
        "description": short_description(header),
        "category": header.get("category") or UNCATEGORISED,
        "relevance": round(hit.relevance, 2),
        "available": ctx.available(header),
    }
