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
    order = ranking.ordered(total)
    needed = graph.requirements([heads[key] for key, _ in order], total, resolve) if use_graph else {}
    if needed:
        order = ranking.ordered(total | {key: score for key, (score, _) in needed.items()})
    signs = _signs(wishes, gains, needed)
    return [
        Hit(
            id=key,
            score=score,
            relevance=0.0,
            via=needed[key][1] if key in needed else "",
            signals={name: values[key] for name, values in signs.items() if values.get(key)},
        )
        for key, score in order[: max(KEPT, 2 * query.limit)]
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


def _signs(
    wishes: Sequence[Wish], gains: Mapping[str, float], needed: Mapping[str, tuple[float, str]]
) -> dict[str, Mapping[str, float]]:
    """The signals by name, and of each the values by id; of several texts and clauses the best."""
    found = [each for one in wishes for each in one.found]
    met = [one.met for one in wishes]
    return {
        "bm25": _best([each.lexical for each in found]),
        "cosine": _best([each.vector for each in found]),
        "meets_query": _best([{key: each.query for key, each in one.items()} for one in met]),
        "meets_name": _best([{key: each.name for key, each in one.items()} for one in met]),
        "meets_description": _best([{key: each.described for key, each in one.items()} for one in met]),
        "used_together": gains,
        "required": {key: score for key, (score, _) in needed.items()},
    }


def _best(maps: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    if len(maps) == 1:
        return maps[0]
    keys = dict.fromkeys(key for one in maps for key in one)
    return {key: max(one.get(key, 0.0) for one in maps) for key in keys}
