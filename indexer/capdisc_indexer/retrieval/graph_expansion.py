"""Adds to a ranking what the graph knows: requirements come along, partners raise each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.graph import relations
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.candidates import Candidates, IsAvailable, passes_filters
from capdisc_indexer.retrieval.late_interaction import Reranking
from capdisc_indexer.store.snapshot import Index

# At least this many hits are kept, and twice as many as are shown, since copies of better ones are
# among them.
MIN_EXPANDED_HITS = 60

# By the name of each signal, its values by id.
SignalValues = Mapping[str, Mapping[str, float]]


def expand_graph(
    index: Index,
    query: Query,
    scores: dict[str, float],
    headers: dict[str, CapabilityHeader],
    signals: SignalValues,
    is_available: IsAvailable | None,
    use_graph: bool,
) -> list[Hit]:
    """The scores as hits in order, each with its signals; with `use_graph`, what they require
    and what gives them their parameters is among them.
    """
    resolve = _make_resolver(index, query, is_available)
    share = relations.PARTNER_SHARE if query.graph_boost is None else query.graph_boost
    presets = query.choices.presets
    gains = relations.partners(headers, scores, resolve, share, presets) if use_graph else {}
    raised_scores = {key: min(1.0, score + gains.get(key, 0.0)) for key, score in scores.items()}
    order = fusion.order_scores(raised_scores)
    required: relations.Companions = {}
    produced: relations.Companions = {}
    if use_graph:
        ordered_headers = [headers[key] for key, _ in order]
        required = relations.requirements(ordered_headers, raised_scores, resolve)
        produced = relations.producers(ordered_headers, raised_scores, index.producers, resolve)
    # What its author declares comes before what was derived.
    companions = produced | required
    if companions:
        scores_of_companions = {key: score for key, (score, _) in companions.items()}
        order = fusion.order_scores(raised_scores | scores_of_companions)
    all_signals = {
        **signals,
        "used_together": gains,
        "required": {key: score for key, (score, _) in required.items()},
        "gives_input": {key: produced[key][0] for key in produced if key not in required},
    }
    return [
        Hit(
            id=key,
            score=score,
            relevance=0.0,
            via=companions[key][1] if key in companions else "",
            signals={name: values[key] for name, values in all_signals.items() if values.get(key)},
        )
        for key, score in order[: max(MIN_EXPANDED_HITS, 2 * query.limit)]
    ]


def collect_signals(
    candidates: Sequence[Sequence[Candidates]], rerankings: Sequence[Reranking]
) -> SignalValues:
    """The signals of all texts and clauses in the order in which `--explain` shows them.

    Where several texts or clauses give a value, the best one counts.
    """
    channels = [part for parts in candidates for part in parts]
    signals = {
        "bm25": _merge_best([channel.lexical for channel in channels]),
        "cosine": _merge_best([channel.vector for channel in channels]),
    }
    for name in dict.fromkeys(name for reranking in rerankings for name in reranking.signals):
        signals[name] = _merge_best([reranking.signals.get(name, {}) for reranking in rerankings])
    return signals


def _merge_best(maps: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    if len(maps) == 1:
        return maps[0]
    keys = dict.fromkeys(key for values in maps for key in values)
    return {key: max(values.get(key, 0.0) for values in maps) for key in keys}


def _make_resolver(
    index: Index, query: Query, is_available: IsAvailable | None
) -> relations.ResolveName:
    """A function from a name to its header, or None, that looks each name up once.

    What filters exclude or authors hide stays out, however it is reached.
    """
    header_of_name: dict[str, CapabilityHeader | None] = {}

    def resolve(name: str) -> CapabilityHeader | None:
        if name not in header_of_name:
            header = index.resolve(name)
            is_offered = header is not None and _is_offered(index, query, header, is_available)
            header_of_name[name] = header if is_offered else None
        return header_of_name[name]

    return resolve


def _is_offered(
    index: Index, query: Query, header: CapabilityHeader, is_available: IsAvailable | None
) -> bool:
    if not index.documents.headers_for([header["id"]], query) or header.get("hidden"):
        return False
    return passes_filters(header, query, is_available)
