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
    PassageEvidence,
    add_sections,
    find_passages,
    strongest_passages,
)
from capdisc_indexer.retrieval.candidates import (
    Candidates,
    IsAvailable,
    collect_headers,
    find_candidates_of_parts,
    fuse_candidates,
    passes_filters,
)
from capdisc_indexer.retrieval.confidence import (
    calibrate,
    find_unmatched_words,
    read_answer_signs,
    read_confidence,
)
from capdisc_indexer.retrieval.deduplication import limit_sources, merge_near_duplicates
from capdisc_indexer.retrieval.graph_expansion import SignalValues, collect_signals, expand_graph
from capdisc_indexer.retrieval.late_interaction import rerank
from capdisc_indexer.retrieval.query_analysis import AnalysedText, add_synonyms, analyse_text
from capdisc_indexer.retrieval.siblings import lower_excluded, prefer_meant_siblings
from capdisc_indexer.retrieval.typing_errors import correct_query, find_typing_errors
from capdisc_indexer.retrieval.verdict import GRADED_HITS, grade_relevance, judge
from capdisc_indexer.store.snapshot import Index

RERANK = "rerank"
MODES = ("auto", "hybrid", "lexical", "vector", "no-graph", RERANK)
NEAREST_CATEGORIES = 8


def search_index(
    index: Index,
    query: Query,
    encoder: Encoder | None,
    mode: str = "auto",
    is_available: IsAvailable | None = None,
) -> Ranking:
    """The capabilities that fit the query, best first, with the verdict on them; none when nothing
    does.

    Without an encoder, or with another one than the index was made with, words alone decide, and
    `degraded` says so. `is_available` filters where the query asks for what is available; with it,
    what its author switched off stands behind what comes near it.

    Raises UsageError for an empty query.
    """
    encoders = _choose_encoders(index, encoder, mode)
    times = [time.perf_counter()]
    synonym_query = _expand_query(index, query)
    corrections = find_typing_errors(index, encoders.token_encoder, synonym_query.texts)
    expanded_query = correct_query(synonym_query, corrections)
    plain_texts = _require_texts(expanded_query)
    texts = [analyse_text(index, text, query.choices.splits) for text in plain_texts]
    evidence = _find_evidence(index, texts, expanded_query, encoders, mode)
    scores, signals = _score_evidence(index, texts, evidence, encoders)
    headers = {
        key: header
        for key, header in evidence.headers.items()
        if passes_filters(header, query, is_available)
    }
    scores = {key: score for key, score in scores.items() if key in headers}
    if mode != "vector":
        scores, signals = prefer_meant_siblings(index, texts, scores, headers, signals)
    if mode == RERANK:
        from capdisc_indexer.retrieval.reranker import rerank_scores

        scores, cosines, problem = rerank_scores(index, plain_texts, scores)
        signals = {**signals, **cosines}
        encoders = encoders.without_reranker(problem) if problem else encoders
    times.append(time.perf_counter())
    scores = _adjust_scores(scores, headers, query, with_availability=is_available is not None)
    use_graph = mode != "no-graph"
    expanded_hits = expand_graph(
        index, expanded_query, scores, headers, signals, is_available, use_graph
    )
    times.append(time.perf_counter())
    distinct_hits = merge_near_duplicates(expanded_hits, headers)
    best_passages = strongest_passages(evidence.passages)
    calibrated_hits = calibrate(
        index,
        expanded_query,
        distinct_hits,
        evidence.candidates,
        best_passages,
        encoders.token_encoder,
        encoders.effective_mode,
    )
    unmatched = find_unmatched_words(index, expanded_query)
    signs = read_answer_signs(
        index,
        plain_texts,
        calibrated_hits,
        evidence.candidates,
        unmatched,
        encoders.confidence_encoder,
    )
    first_hits = limit_sources(calibrated_hits[:GRADED_HITS], headers)
    ranking = Ranking(
        query=query,
        hits=(*first_hits, *calibrated_hits[GRADED_HITS:]),
        mode=encoders.effective_mode,
        degraded=encoders.degraded,
        confidence=read_confidence(calibrated_hits, signs),
        unmatched=unmatched,
        corrections=corrections,
        categories=_nearest_categories(distinct_hits, headers),
        candidates=len(headers),
        timings=_stage_times(times, evidence.candidates),
    )
    judged = replace(ranking, query=correct_query(query, corrections))
    verdict = judge(index, judged, signs) if query.choices.refuses else None
    if verdict and not verdict.fits:
        return replace(ranking, hits=(), confidence=0.0, gate=verdict)
    shown_hits = grade_relevance(ranking.hits, fits=verdict is not None)[: query.limit]
    return replace(
        ranking, hits=tuple(add_sections(index, shown_hits, best_passages)), gate=verdict
    )


def _expand_query(index: Index, query: Query) -> Query:
    """The query with the user's synonyms in further texts; as it is without synonyms."""
    synonyms = query.choices.synonyms
    if not synonyms:
        return query
    return replace(
        query, texts=tuple(add_synonyms(_require_texts(query), synonyms, index.mentions))
    )


@frozen
class SearchEvidence:
    """What the index has for a query: for each text the candidates of its parts and its passages,
    in the order of the texts, and the headers of all of them by id.
    """

    candidates: Sequence[Sequence[Candidates]]
    passages: Sequence[PassageEvidence]
    headers: dict[str, CapabilityHeader]


def _find_evidence(
    index: Index,
    texts: Sequence[AnalysedText],
    query: Query,
    encoders: SearchEncoders,
    mode: str,
) -> SearchEvidence:
    candidates = [
        find_candidates_of_parts(index, text.parts, query, encoders.vectors, mode)
        for text in texts
    ]
    passages = [
        find_passages(index, text.parts[0], query, encoders.token_encoder, mode) for text in texts
    ]
    headers = collect_headers(candidates)
    for passages_of_text in passages:
        headers |= passages_of_text.headers
    return SearchEvidence(candidates, passages, headers)


def _score_evidence(
    index: Index,
    texts: Sequence[AnalysedText],
    evidence: SearchEvidence,
    encoders: SearchEncoders,
) -> tuple[dict[str, float], SignalValues]:
    """The score 0..1 of each candidate by id, for all texts together, and its signals."""
    rerankings = [
        rerank(
            index,
            encoders.token_encoder,
            text,
            fuse_candidates(candidates, text.weights.lexical),
            evidence.headers,
            passages.gains,
            candidates[0].query_vector,
        )
        for text, candidates, passages in zip(
            texts, evidence.candidates, evidence.passages, strict=True
        )
    ]
    signals = collect_signals(evidence.candidates, rerankings)
    scores = fusion.combine_texts([reranking.scores for reranking in rerankings])
    parts = [[part.text for part in text.parts] for text in texts]
    return lower_excluded(index, encoders.token_encoder, parts, scores, evidence.headers, signals)


def _adjust_scores(
    scores: Mapping[str, float],
    headers: Mapping[str, CapabilityHeader],
    query: Query,
    *,
    with_availability: bool,
) -> dict[str, float]:
    """The scores of the capabilities that have a header, changed by what is known of these beside
    the query: stuffed descriptions and switched off capabilities lowered, used ones raised.

    An evaluation asks what fits, wherever it can be used: it goes without `with_availability`.
    """
    adjusted_scores = fusion.penalize_keyword_stuffing(scores, headers)
    if with_availability:
        adjusted_scores = fusion.lower_unavailable(adjusted_scores, headers)
    if query.choices.workspace:
        adjusted_scores = fusion.raise_own(adjusted_scores, headers, query.choices.workspace)
    if query.choices.use_gains:
        adjusted_scores = fusion.raise_used(adjusted_scores, query.choices.use_gains)
    return adjusted_scores


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

    Without `vectors` words alone decide; without `token_encoder` there is no late interaction.
    `degraded` says why vectors are missing, for the user; `effective_mode` is the mode that the
    ranking reports.
    """

    vectors: Encoder | None
    token_encoder: StaticEncoder | None
    effective_mode: str
    degraded: tuple[str, ...] = ()

    @property
    def confidence_encoder(self) -> StaticEncoder | None:
        """The encoder that made the vectors, if late interaction uses it as well: the signs of
        confidence were fitted to one encoder for both.
        """
        has_one_encoder = self.vectors is not None and self.vectors is self.token_encoder
        return self.token_encoder if has_one_encoder else None

    def without_reranker(self, problem: str) -> SearchEncoders:
        """The same for a search whose hits are not reordered, because of this problem."""
        mode = "hybrid" if self.effective_mode == RERANK else self.effective_mode
        degraded = (*self.degraded, f"hits are not reranked: {problem}")
        return replace(self, effective_mode=mode, degraded=degraded)


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
        return SearchEncoders(encoder, _choose_token_encoder(index, encoder), effective_mode)
    return SearchEncoders(None, None, "lexical", (problem,))


def _choose_token_encoder(index: Index, encoder: Encoder) -> StaticEncoder | None:
    """The shipped encoder if the index holds its token ids, whatever encoder made the vectors."""
    if isinstance(encoder, StaticEncoder) and encoder.fingerprint == index.generation.pieces:
        return encoder
    try:
        shipped_encoder = load_shipped_encoder()
    except EncoderError:
        return None
    return shipped_encoder if shipped_encoder.fingerprint == index.generation.pieces else None


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
