"""The capabilities that a context is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from capdisc import asking, querying
from capdisc.rendering.everything import Everything, offered_heads, offered_places
from capdisc.rendering.typed import Request
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.types import Descriptor, Hit, Query, Ranking

# A capability with the token counts that the build stored.
Stored = tuple[Descriptor, dict[str, Any]]


@frozen(kw_only=True)
class Found:
    """The answer to a query, and whether every capability stands in for it: those of `everything`, which are read as
    far as they fit, or those that are stored."""

    ranking: Ranking
    stored: tuple[Stored, ...] = ()
    is_everything: bool = False
    everything: Everything | None = None

    @property
    def is_empty(self) -> bool:
        """Whether something was asked for, and nothing fits."""
        return bool(self.ranking.query.texts) and not self.ranking.hits


def find(asked: asking.Asked, request: Request, query: Query, everything: Callable[[], Everything]) -> Found:
    """What fits a query that was checked; where nothing does, what was asked for in that case."""
    if not query.texts:
        return Found(ranking=unasked(query))
    ranking = querying.ranking_for(asked, query, request.mode, request.encoder)
    ranking = replace(ranking, hits=tuple(_relevant(ranking.hits, request.min_relevance)))
    if not ranking.hits and request.on_empty == "all":
        return Found(ranking=ranking, is_everything=True, everything=everything())
    heads = asked.index.documents.passing([hit.id for hit in ranking.hits], Query(texts=()))
    return Found(ranking=ranking, stored=tuple(asked.index.with_counts(heads[hit.id]) for hit in ranking.hits))


def unasked(query: Query) -> Ranking:
    """The ranking of a query that asks for nothing."""
    return Ranking(query=query, hits=(), mode="none", confidence=0.0)


def all_in_full(asked: asking.Asked, query: Query) -> tuple[Stored, ...]:
    """All capabilities that pass the filters and are not hidden, with their bodies, in order of their ids."""
    ids = [asked.index.columns.ids[place] for place in offered_places(asked, query)]
    return tuple(asked.index.with_counts(head) for head in offered_heads(asked, query, ids))


def is_filtered(query: Query) -> bool:
    """Whether anything but the query's words decides what may be shown."""
    sieves = (query.kinds, query.categories, query.tags, query.exclude, query.max_risk, query.available)
    return any(sieves)


def _relevant(hits: tuple[Hit, ...], least: float) -> Iterator[Hit]:
    """The hits that are relevant enough, and what those require."""
    kept: set[str] = set()
    for hit in hits:  # what requires a hit comes before it
        if hit.relevance >= least or hit.via in kept:
            kept.add(hit.id)
            yield hit
