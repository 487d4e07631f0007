"""What the graph adds to a ranking: requirements come along, partners push each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capdisc_indexer import graph, ranking
from capdisc_indexer.index import Index
from capdisc_indexer.types import Hit, Query
from capdisc_indexer.wishes import Wish

# At least so many are kept, and twice as many as are shown: copies of better ones are among them.
KEPT = 60

Availability = Callable[[Mapping[str, Any]], bool]


def expand(
    index: Index,
    query: Query,
    scores: dict[str, float],
    heads: dict[str, dict[str, Any]],
    wishes: Sequence[Wish],
    available: Availability | None,
    use_graph: bool,
) -> list[Hit]:
    """Scores with the graph's part in them, as hits in order."""
    resolve = _resolver(index, query, available)
    gains = graph.partners(heads, scores, resolve) if use_graph else {}
    total = {key: min(1.0, score + gains.get(key, 0.0)) for key, score in scores.items()}
    order = [heads[key] for key, _ in ranking.ordered(total)]
    needed = graph.requirements(order, total, resolve) if use_graph else {}
    total |= {key: score for key, (score, _) in needed.items()}
    return [
        Hit(
            id=key,
            score=score,
            relevance=0.0,
            via=needed[key][1] if key in needed else "",
            signals=_signals(key, wishes, gains, needed),
        )
        for key, score in ranking.ordered(total)[: max(KEPT, 2 * query.limit)]
    ]


def _resolver(index: Index, query: Query, available: Availability | None) -> graph.Resolve:
    """Looks names up once; what filters exclude or authors hide stays out, however it is reached."""
    known: dict[str, Mapping[str, Any] | None] = {}

    def resolve(name: str) -> Mapping[str, Any] | None:
        if name not in known:
            head = index.resolve(name)
            passing = index.documents.passing([head["id"]], query) if head else {}
            shut = query.available and available is not None and head is not None and not available(head)
            known[name] = head if head and passing and not head.get("hidden") and not shut else None
        return known[name]

    return resolve


def _signals(
    key: str, wishes: Sequence[Wish], gains: Mapping[str, float], needed: Mapping[str, tuple[float, str]]
) -> dict[str, float]:
    found = [each for one in wishes for each in one.found]
    met = [one.met[key] for one in wishes if key in one.met]
    signals = {
        "bm25": max((each.lexical.get(key, 0.0) for each in found), default=0.0),
        "cosine": max((each.vector.get(key, 0.0) for each in found), default=0.0),
        "meets_query": max((each.query for each in met), default=0.0),
        "meets_name": max((each.name for each in met), default=0.0),
        "meets_description": max((each.described for each in met), default=0.0),
        "used_together": gains.get(key, 0.0),
        "required": needed[key][0] if key in needed else 0.0,
    }
    return {name: value for name, value in signals.items() if value}
