"""What goes with the hits of a query, for who asks for it. By default nothing is added: it helped no measured query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from capdisc_indexer.index import Index
from capdisc_indexer.types import Hit, Ranking

SHARE = 0.7


def expanded(
    index: Index, ranking: Ranking, wanted: int, available: Callable[[Mapping[str, Any]], bool]
) -> tuple[Hit, ...]:
    """The hits, and behind them up to `wanted` capabilities that they declare as related or used together, at 0.7
    of their score, `via` the hit; the query's filters hold for them too."""
    known = {hit.id for hit in ranking.hits}
    added: list[Hit] = []
    for hit in ranking.hits:
        head = index.documents.passing([hit.id], ranking.query).get(hit.id, {})
        for name in (*head.get("related", ()), *head.get("composed_with", ())):
            other = index.resolve(name)
            if other is None or other["id"] in known or not _passes(index, other, ranking, available):
                continue
            known.add(other["id"])
            score = round(SHARE * hit.score, 4)
            added.append(Hit(id=other["id"], score=score, relevance=0.0, via=hit.id, signals={"related": score}))
    return (*ranking.hits, *added[:wanted])


def _passes(
    index: Index, head: Mapping[str, Any], ranking: Ranking, available: Callable[[Mapping[str, Any]], bool]
) -> bool:
    query = ranking.query
    shown = bool(index.documents.passing([head["id"]], query)) and not head.get("hidden")
    return shown and (not query.available or available(head))
