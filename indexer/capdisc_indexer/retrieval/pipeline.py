"""Answers a query: `search_index` names every stage from the text to the ranking, in order."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from capdisc_indexer.encoders import Encoder, load_shipped_encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Hit, Query, Ranking
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.body_passages import (
    find_passages,
    name_sections,
    strongest_passages,
)
from capdisc_indexer.retrieval.calibration import (
    calibrate,
    estimate_confidence,
    find_unmatched_words,
    read_confidence,
    refuse_irrelevant,
)
from capdisc_indexer.retrieval.candidates import (
    Candidates,
    collect_headers,
    find_candidates_of_parts,
    fuse_candidates,
)
from capdisc_indexer.retrieval.deduplication import limit_sources, merge_near_duplicates
from capdisc_indexer.retrieval.excluded_requests import lower_excluded
from capdisc_indexer.retrieval.graph_expansion import collect_signals, expand_graph
from capdisc_indexer.retrieval.late_interaction import rerank
from capdisc_indexer.retrieval.query_analysis import add_synonyms, analyse_text
from capdisc_indexer.retrieval.query_rules import IsAvailable, passes_filters
from capdisc_indexer.store.snapshot import Index

MODES = ("auto", "hybrid", "lexical", "vector", "no-graph")
NEAREST_CATEGORIES = 8


def search_index(
    index: Index,
    query: Query,
    encoder: Encoder | None,
    mode: str = "auto",
    is_available: IsAvailable | None = None,
) -> Ranking:
    """The capabilities that fit the query, best first; none when nothing does.

    Without an encoder, or with another one than the index was made with, words alone decide, and
    `degraded` says so. `is_available` filters where the query asks for what is available; with it,
    what its author switched off stands behind what comes near it.

    Raises UsageError for an empty query.
    """
    encoders, choices = _choose_encoders(index, encoder, mode), query.choices
    times = [time.perf_counter()]
    asked, plain_texts = query, _require_texts(query)
    if choices.synonyms:
        plain_texts = add_synonyms(plain_texts, choices.synonyms, index.mentions)
        query = replace(query, texts=tuple(plain_texts))
    texts = [analyse_text(index, text, choices.splits) for text in plain_texts]
    candidates = [
        find_candidates_of_parts(index, text.parts, query, encoders.vectors, mode)
        for text in texts
    ]
    passages = [
        find_passages(index, text.parts[0], query, encoders.reranker, mode) for text in texts
    ]
    headers = collect_headers(candidates)
    for evidence in passages:
        headers |= evidence.headers
    part_scores = [fuse_candidates(candidates_of_text) for candidates_of_text in candidates]
    rerankings = [
        rerank(
            index,
            encoders.reranker,
            text.part_texts,
            scores,
            headers,
            evidence.gains,
            candidates_of_text[0].query_vector,
        )
        for text, scores, evidence, candidates_of_text in zip(
            texts, part_scores, passages, candidates, strict=True
        )
    ]
    signals = collect_signals(candidates, rerankings)
    scores = fusion.combine_texts([reranking.scores for reranking in rerankings])
    parts = [[part.text for part in text.parts] for text in texts]
    scores, signals = lower_excluded(index, encoders.reranker, parts, scores, headers, signals)
    headers = {
        key: header
        for key, header in headers.items()
        if passes_filters(header, query, is_available)
    }
    times.append(time.perf_counter())
    scores = fusion.penalize_keyword_stuffing(scores, headers)
    if is_available is not None:  # an evaluation asks what fits, wherever it can be used
        scores = fusion.lower_unavailable(scores, headers)
    if choices.use_gains:
        scores = fusion.raise_used(scores, choices.use_gains)
    use_graph = mode != "no-graph"
    expanded_hits = expand_graph(index, query, scores, headers, signals, is_available, use_graph)
    times.append(time.perf_counter())
    distinct_hits = merge_near_duplicates(expanded_hits, headers)
    best_passages = strongest_passages(passages)
    calibrated_hits = calibrate(
        index,
        query,
        distinct_hits,
        candidates,
        best_passages,
        encoders.reranker,
        encoders.effective_mode,
    )
    unmatched = find_unmatched_words(index, query)
    confidence = read_confidence(
        index, plain_texts, calibrated_hits, candidates, unmatched, encoders.calibrated
    )
    accepted_hits = refuse_irrelevant(calibrated_hits, query.texts, encoders.reranker, confidence)
    spread_hits = limit_sources(accepted_hits, headers)
    return Ranking(
        query=asked,
        hits=tuple(name_sections(index, spread_hits[: query.limit], best_passages)),
        mode=encoders.effective_mode,
        degraded=encoders.degraded,
        confidence=_confidence_of_accepted(accepted_hits, confidence),
        unmatched=unmatched,
        categories=_nearest_categories(distinct_hits, headers),
        candidates=len(headers),
        timings=_stage_times(times, candidates),
    )


def _confidence_of_accepted(accepted_hits: Sequence[Hit], confidence: float | None) -> float:
    if not accepted_hits or confidence is None:
        return estimate_confidence(accepted_hits)
    return confidence


def _require_texts(query: Query) -> list[str]:
    """The texts of the query that are not blank."""
    texts = [text for text in query.texts if text.strip()]
    if not texts:
        raise UsageError(
            "the query is empty",
            'say what you need, for example: capdisc search "merge two PDF files"',
        )
    return texts


@frozen
class SearchEncoders:
    """The encoders that one search uses, and what is missing.

    Without `vectors` words alone decide; without `reranker` there is no late interaction.
    `degraded` says why vectors are missing, for the user; `effective_mode` is the mode that the
    ranking reports.
    """

    vectors: Encoder | None
    reranker: StaticEncoder | None
    effective_mode: str
    degraded: tuple[str, ...] = ()

    @property
    def calibrated(self) -> StaticEncoder | None:
        """The encoder of the vectors, where late interaction reads the same one."""
        has_one_encoder = self.vectors is not None and self.vectors is self.reranker
        return self.reranker if has_one_encoder else None


def _choose_encoders(index: Index, encoder: Encoder | None, mode: str) -> SearchEncoders:
    if mode == "lexical":
        return SearchEncoders(None, None, "lexical")
    if not index.has_vectors:
        problem = "this index has no vectors: searching by words alone"
    elif encoder is None:
        problem = "the encoder is missing or damaged: searching by words alone"
    elif encoder.fingerprint != index.generation.fingerprint:
        problem = (
            "the index was made with another encoder: searching by words alone; run: capdisc index"
        )
    else:
        effective_mode = "hybrid" if mode == "auto" else mode
        return SearchEncoders(encoder, _rerank_encoder(index, encoder), effective_mode)
    return SearchEncoders(None, None, "lexical", (problem,))


def _rerank_encoder(index: Index, encoder: Encoder) -> StaticEncoder | None:
    """The shipped encoder if the index holds its token ids, whatever encoder made the vectors."""
    if isinstance(encoder, StaticEncoder) and encoder.fingerprint == index.generation.pieces:
        return encoder
    try:
        reranker = load_shipped_encoder()
    except EncoderError:
        return None
    return reranker if reranker.fingerprint == index.generation.pieces else None


def _nearest_categories(
    hits: Sequence[Hit], headers: Mapping[str, CapabilityHeader]
) -> tuple[str, ...]:
    """The categories of the first hits in order, whether or not a hit fits."""
    categories = dict.fromkeys(
        headers[hit.id].get("category") or UNCATEGORISED for hit in hits if hit.id in headers
    )
    return tuple(categories)[:NEAREST_CATEGORIES]


def _stage_times(
    times: Sequence[float], candidates: Sequence[Sequence[Candidates]]
) -> dict[str, float]:
    """Milliseconds by stage, from the seconds at the start, after ranking and after expansion."""
    started_at, ranked_at, expanded_at = times
    return {
        "ranking": 1000 * (ranked_at - started_at),
        "vectors": 1000 * sum(part.vectors_s for parts in candidates for part in parts),
        "graph": 1000 * (expanded_at - ranked_at),
        "judgement": 1000 * (time.perf_counter() - expanded_at),
    }
