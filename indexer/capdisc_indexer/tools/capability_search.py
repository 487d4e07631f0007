"""Which capabilities fit a text, or are of one kind: what every discovery tool begins with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import ToolContext

DESCRIPTION_CHARACTERS = 300
# How many hits are searched for where a tool then filters by what the index cannot filter by.
WIDE_LIMIT = 200
MIN_SHOWN_RELEVANCE = 0.05
# Names that an error lists; the rest is counted.
_MAX_LISTED_NAMES = 20


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
    hits = tuple(hit for hit in ranking.hits if hit.relevance >= MIN_SHOWN_RELEVANCE or hit.via)
    headers = ctx.index.documents.headers_for([hit.id for hit in hits], Query(texts=()))
    return SearchResult(ranking=replace(ranking, hits=hits), headers=headers)


def check_filters(ctx: ToolContext, kinds: Sequence[str], category: str) -> None:
    """Raises UsageError for a kind or category that no capability of the index has. Several kinds
    are not checked: they are alternatives.
    """
    overview = ctx.index.overview
    if len(kinds) == 1 and kinds[0] not in overview["kinds"]:
        raise UsageError(
            f"nothing here is of the kind {one_line(kinds[0], 40)!r}",
            f"here: {_join_names(overview['kinds'])}",
        )
    categories = {record["category"].lower() for record in overview["categories"]}
    if category and category.lower() not in categories:
        raise UsageError(
            f"nothing here has the category {one_line(category, 40)!r}",
            f"here: {_join_names(categories)}",
        )


def _join_names(names: Collection[str]) -> str:
    sorted_names = sorted(one_line(name, 40) for name in names)
    if not sorted_names:
        return "nothing yet"
    omitted = len(sorted_names) - _MAX_LISTED_NAMES
    listed_names = ", ".join(sorted_names[:_MAX_LISTED_NAMES])
    return f"{listed_names} and {omitted} more" if omitted > 0 else listed_names


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
