"""The capabilities that a context is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from capdisc.args import query_options
from capdisc.context import open_index
from capdisc.render.render_options import QueryOptions
from capdisc.render.whole_catalogue import Everything, offered_heads, offered_places
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Descriptor, Hit, Query, Ranking

# A capability with the token counts that the build stored.
CountedDescriptor = tuple[Descriptor, dict[str, Any]]


@frozen(kw_only=True)
class RelevantCapabilities:
    """The answer to a query, and whether every capability stands in for it: those of `everything`,
    which are read as far as they fit, or those that are stored.
    """

    ranking: Ranking
    stored: tuple[CountedDescriptor, ...] = ()
    is_everything: bool = False
    everything: Everything | None = None

    @property
    def is_empty(self) -> bool:
        """Whether something was asked for, and nothing fits."""
        return bool(self.ranking.query.texts) and not self.ranking.hits


def find_relevant(
    ctx: open_index.CommandContext,
    request: QueryOptions,
    query: Query,
    everything: Callable[[], Everything],
) -> RelevantCapabilities:
    """What fits a query that was checked; where nothing does, what was asked for in that case."""
    if not query.texts:
        return RelevantCapabilities(ranking=empty_ranking(query))
    ranking = query_options.rank_query(ctx, query, request.mode, request.encoder)
    ranking = replace(ranking, hits=tuple(_filter_relevant(ranking.hits, request.min_relevance)))
    if not ranking.hits and request.on_empty == "all":
        return RelevantCapabilities(ranking=ranking, is_everything=True, everything=everything())
    headers = ctx.index.documents.headers_for([hit.id for hit in ranking.hits], Query(texts=()))
    return RelevantCapabilities(
        ranking=ranking,
        stored=tuple(ctx.index.with_counts(headers[hit.id]) for hit in ranking.hits),
    )


def empty_ranking(query: Query) -> Ranking:
    """The ranking of a query that asks for nothing."""
    return Ranking(query=query, hits=(), mode="none", confidence=0.0)


def all_in_full(asked: open_index.CommandContext, query: Query) -> tuple[CountedDescriptor, ...]:
    """All capabilities that pass the filters and are not hidden, with their bodies, in order of
    their ids.
    """
    ids = [asked.index.columns.ids[place] for place in offered_places(asked, query)]
    return tuple(asked.index.with_counts(head) for head in offered_heads(asked, query, ids))


def is_filtered(query: Query) -> bool:
    """Whether anything but the query's words decides what may be shown."""
    sieves = (
        query.kinds,
        query.categories,
        query.tags,
        query.exclude,
        query.max_risk,
        query.available,
    )
    return any(sieves)


def _filter_relevant(hits: tuple[Hit, ...], min_relevance: float) -> Iterator[Hit]:
    """The hits that are relevant enough, and what those require."""
    shown_ids: set[str] = set()
    for hit in hits:  # what requires a hit comes before it
        if hit.relevance >= min_relevance or hit.via in shown_ids:
            shown_ids.add(hit.id)
            yield hit
