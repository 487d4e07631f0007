"""What the graph adds to a ranking: requirements come along, partners push each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from capdisc_indexer.graph import traversal
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.query_scoring import QueryScores
from capdisc_indexer.store.snapshot import Index

# At least so many are kept, and twice as many as are shown: copies of better ones are among them.
MIN_EXPANDED_HITS = 60

IsAvailable = Callable[[CapabilityHeader], bool]


def expand_graph(
    index: Index,
    query: Query,
    scores: dict[str, float],
    headers: dict[str, CapabilityHeader],
    query_scores: Sequence[QueryScores],
    is_available: IsAvailable | None,
    use_graph: bool,
) -> list[Hit]:
    """Scores with the graph's part in them, as hits in order."""
    resolve = _make_resolver(index, query, is_available)
    gains = traversal.partners(headers, scores, resolve) if use_graph else {}
    total = {key: min(1.0, score + gains.get(key, 0.0)) for key, score in scores.items()}
    order = fusion.order_scores(total)
    requirements = (
        traversal.requirements([headers[key] for key, _ in order], total, resolve)
        if use_graph
        else {}
    )
    if requirements:
        order = fusion.order_scores(
            total | {key: score for key, (score, _) in requirements.items()}
        )
    signals = _collect_signals(query_scores, gains, requirements)
    return [
        Hit(
            id=key,
            score=score,
            relevance=0.0,
            via=requirements[key][1] if key in requirements else "",
            signals={name: values[key] for name, values in signals.items() if values.get(key)},
        )
        for key, score in order[: max(MIN_EXPANDED_HITS, 2 * query.limit)]
    ]


def _make_resolver(
    index: Index, query: Query, is_available: IsAvailable | None
) -> traversal.ResolveName:
    """Looks names up once; what filters exclude or authors hide stays out, however it is
    reached.
    """
    header_of_name: dict[str, CapabilityHeader | None] = {}

    def resolve(name: str) -> CapabilityHeader | None:
        if name not in header_of_name:
            header = index.resolve(name)
            passing = index.documents.headers_for([header["id"]], query) if header else {}
            shut = (
                query.available
                and is_available is not None
                and header is not None
                and not is_available(header)
            )
            header_of_name[name] = (
                header if header and passing and not header.get("hidden") and not shut else None
            )
        return header_of_name[name]

    return resolve


def _collect_signals(
    query_scores: Sequence[QueryScores],
    gains: Mapping[str, float],
    requirements: Mapping[str, tuple[float, str]],
) -> dict[str, Mapping[str, float]]:
    """The signals by name, and of each the values by id; of several texts and clauses the best."""
    lookups = [lookup for scored in query_scores for lookup in scored.lookups]
    max_sims = [scored.max_sims for scored in query_scores]
    return {
        "bm25": _merge_best([lookup.lexical for lookup in lookups]),
        "cosine": _merge_best([lookup.vector for lookup in lookups]),
        "meets_query": _merge_best(
            [{key: scores.query for key, scores in by_id.items()} for by_id in max_sims]
        ),
        "meets_name": _merge_best(
            [{key: scores.name for key, scores in by_id.items()} for by_id in max_sims]
        ),
        "meets_description": _merge_best(
            [{key: scores.description for key, scores in by_id.items()} for by_id in max_sims]
        ),
        "used_together": gains,
        "required": {key: score for key, (score, _) in requirements.items()},
    }


def _merge_best(maps: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    if len(maps) == 1:
        return maps[0]
    keys = dict.fromkeys(key for values in maps for key in values)
    return {key: max(values.get(key, 0.0) for values in maps) for key in keys}
