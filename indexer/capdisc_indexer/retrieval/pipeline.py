"""The query pipeline: text → candidates from words and from vectors → one score → graph →
relevance → hits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from capdisc_indexer.encoders import Encoder, load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError, UsageError
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Hit, Query, Ranking
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.calibration import (
    CALIBRATED_HITS,
    calibrate,
    estimate_confidence,
    find_unmatched_words,
    has_only_stop_words,
    passes_refusal_threshold,
)
from capdisc_indexer.retrieval.deduplication import merge_near_duplicates
from capdisc_indexer.retrieval.graph_expansion import IsAvailable, expand_graph
from capdisc_indexer.retrieval.query_scoring import score_query
from capdisc_indexer.store.snapshot import Index

# What repeating words earns: less than nothing, so that nobody gains by it.

# A description that says three words twelve times meets a query for them better than an honest
# one: by a third.
STUFFING_PENALTY = 0.6


def penalize_keyword_stuffing(
    scores: Mapping[str, float], headers: Mapping[str, CapabilityHeader]
) -> dict[str, float]:
    """The scores of what has a head, those of stuffed descriptions lowered."""
    return {
        key: scores[key]
        * (STUFFING_PENALTY if "keyword-stuffing" in header.get("warnings", ()) else 1.0)
        for key, header in headers.items()
    }


NEAREST_CATEGORIES = 8
MODES = ("auto", "hybrid", "lexical", "vector", "no-graph")


def search_index(
    index: Index,
    query: Query,
    encoder: Encoder | None,
    mode: str = "auto",
    is_available: IsAvailable | None = None,
) -> Ranking:
    """The capabilities that fit the query, best first; none when nothing does.

    Without an encoder (or with one whose fingerprint is not the index's) words alone decide, and
    `degraded` says so. Raises UsageError for an empty query.
    """
    if not any(text.strip() for text in query.texts):
        raise UsageError(
            "the query is empty",
            'say what you need, for example: capdisc search "merge two PDF files"',
        )
    usable_encoder, degraded = _usable_encoder(index, encoder, mode)
    reranker = _rerank_encoder(index, usable_encoder)
    started_at = time.perf_counter()
    query_scores = [
        score_query(index, text, query, usable_encoder, reranker, mode)
        for text in query.texts
        if text.strip()
    ]
    scores = fusion.combine([scored.scores for scored in query_scores])
    lookups = [lookup for scored in query_scores for lookup in scored.lookups]
    headers = {
        identifier: header for lookup in lookups for identifier, header in lookup.headers.items()
    }
    if is_available is not None and query.available:
        headers = {
            identifier: header for identifier, header in headers.items() if is_available(header)
        }
    ranked_at = time.perf_counter()
    hits = expand_graph(
        index,
        query,
        penalize_keyword_stuffing(scores, headers),
        headers,
        query_scores,
        is_available,
        mode != "no-graph",
    )
    expanded_at = time.perf_counter()
    hits = merge_near_duplicates(hits, headers)
    is_out_of_vocabulary = reranker is not None and not any(
        reranker.has_known_word(text) for text in query.texts
    )
    relevant_lookups = [] if has_only_stop_words(query.texts) else lookups
    calibrated = calibrate(
        index,
        hits[: max(CALIBRATED_HITS, query.limit)],
        relevant_lookups,
        is_out_of_vocabulary,
        _effective_mode(mode, usable_encoder),
    )
    fits = passes_refusal_threshold(calibrated)
    return Ranking(
        query=query,
        hits=tuple(calibrated[: query.limit]) if fits else (),
        mode=_effective_mode(mode, usable_encoder),
        degraded=degraded,
        confidence=estimate_confidence(calibrated) if fits else 0.0,
        unmatched=find_unmatched_words(index, query),
        categories=_nearest_categories(hits, headers),
        candidates=len(headers),
        timings={
            "ranking": 1000 * (ranked_at - started_at),
            "vectors": 1000 * sum(lookup.vectors_s for lookup in lookups),
            "graph": 1000 * (expanded_at - ranked_at),
            "judgement": 1000 * (time.perf_counter() - expanded_at),
        },
    )


def _nearest_categories(
    hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]
) -> tuple[str, ...]:
    """The categories that come nearest, whether or not a hit fits."""
    categories = dict.fromkeys(
        headers[hit.id].get("category") or UNCATEGORISED for hit in hits if hit.id in headers
    )
    return tuple(categories)[:NEAREST_CATEGORIES]


def _usable_encoder(
    index: Index, encoder: Encoder | None, mode: str
) -> tuple[Encoder | None, tuple[str, ...]]:
    if mode == "lexical":
        return None, ()
    if index.matrix is None:
        return None, ("this index has no vectors: searching by words alone",)
    if encoder is None:
        return None, ("the encoder is missing or damaged: searching by words alone",)
    if encoder.fingerprint != index.generation.fingerprint:
        return None, (
            "the index was made with another encoder: searching by words alone; run: capdisc index",
        )
    return encoder, ()


def _rerank_encoder(index: Index, encoder: Encoder | None) -> StaticEncoder | None:
    """The shipped encoder, when the index has its pieces; whatever encoder made the vectors."""
    if encoder is None:
        return None
    if isinstance(encoder, StaticEncoder) and encoder.fingerprint == index.generation.pieces:
        return encoder
    try:
        reranker = load_shipped_encoder()
    except EncoderError:
        return None
    return reranker if reranker.fingerprint == index.generation.pieces else None


def _effective_mode(mode: str, encoder: Encoder | None) -> str:
    return "lexical" if encoder is None else "hybrid" if mode == "auto" else mode
