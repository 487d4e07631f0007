"""Says how sure an answer is: the relevance of each hit by words and meaning, and the confidence.

Scores order the hits of one query; relevance can be compared between queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.body_passages import BestPassage, terms_in_passages
from capdisc_indexer.retrieval.candidates import Candidates
from capdisc_indexer.retrieval.confidence import (
    LONE_HIT_LEAD,
    MAX_LEAD,
    combine_signs,
    load_calibration,
    read_phrase_signs,
    read_signs,
)
from capdisc_indexer.retrieval.query_analysis import correct_spelling
from capdisc_indexer.retrieval.request_gate import is_made_up, logistic, may_be_foreign
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    STOP_WORDS,
    content_words,
    simple_words,
)

# How many hits are calibrated; their order is settled before, so that the first ones matter.
CALIBRATED_HITS = 20
# A text without an English word is none in another language where the catalogue covers at least
# this much of it, the share of its information squared ("stop speaking").
MIN_COVERAGE = 0.25
# How far a cosine has to be above the noise floor to count as a full match: half of all real
# queries come closer than that (eight data sets, the shipped encoder).
FULL_MATCH_MARGIN = 0.42
# The factor on similarity when no word of the query is in the encoder's vocabulary: the parts of
# a made-up word still mean something, by accident. Of made-up queries 96 in a hundred are refused
# so, 90 without it.
OOV_PENALTY = 0.2
# The confidence of an answer without vectors, or with those of another encoder than the shipped
# one: a logistic model of relevance and lead alone.
BIAS, RELEVANCE_WEIGHT, LEAD_WEIGHT = -1.36, 1.76, 8.29


def calibrate(
    index: Index,
    query: Query,
    hits: Sequence[Hit],
    candidates: Sequence[Sequence[Candidates]],
    passages: Mapping[str, BestPassage],
    encoder: StaticEncoder | None,
    mode: str,
) -> list[Hit]:
    """The first hits with their relevance 0..1 and the signal `coverage`, to which the words of
    their best passage count.

    `encoder` has the vocabulary that decides whether the query holds a real word; without one that
    is assumed. In mode `lexical` the words alone decide.
    """
    idfs_of_parts = [part.idf_by_term for parts in candidates for part in parts]
    if _has_only_stop_words(query.texts):
        idfs_of_parts = []
    first_hits = hits[: max(CALIBRATED_HITS, query.limit)]
    terms = list(dict.fromkeys(term for idf_by_term in idfs_of_parts for term in idf_by_term))
    ids = [hit.id for hit in first_hits]
    terms_by_id = index.documents.matching_terms(terms, ids)
    deep_terms = terms_in_passages(index, terms, ids, passages)
    noise_floor = index.generation.background
    penalty = OOV_PENALTY if encoder and is_made_up(query.texts, encoder) else 1.0
    calibrated_hits = []
    for hit in first_hits:
        present_terms = terms_by_id.get(hit.id, frozenset()) | deep_terms.get(hit.id, frozenset())
        coverages = [fusion.coverage(idf_by_term, present_terms) for idf_by_term in idfs_of_parts]
        coverage = max(coverages, default=0.0)
        signals = {name: round(value, 4) for name, value in hit.signals.items()}
        similarity = penalty * fusion.similarity(
            signals.get("cosine", 0.0), noise_floor, noise_floor + FULL_MATCH_MARGIN
        )
        relevance = fusion.relevance(coverage, None if mode == "lexical" else similarity)
        signals["coverage"] = round(coverage, 4)
        calibrated_hits.append(replace(hit, relevance=round(relevance, 4), signals=signals))
    return calibrated_hits


def _has_only_stop_words(texts: Sequence[str]) -> bool:
    """Whether the texts hold nothing but stop words ("how are you"): sharing those means
    nothing.
    """
    return all(
        word.lower() in STOP_WORDS
        for text in texts
        for word in simple_words(text[:MAX_QUERY_CHARACTERS])
    )


def read_answer_signs(
    index: Index,
    texts: Sequence[str],
    hits: Sequence[Hit],
    candidates: Sequence[Sequence[Candidates]],
    unmatched: Sequence[str],
    encoder: StaticEncoder | None,
) -> Mapping[str, float]:
    """The signs of the answer, none without hits that the texts themselves found. `encoder` made
    the vectors; none without, or with another encoder than the one that the signs were fitted to.
    """
    if encoder is None:
        return {}
    calibration = load_calibration()
    if encoder.fingerprint != calibration.encoder or all(hit.via for hit in hits):
        return {}
    signs = read_signs(
        texts,
        hits,
        candidates,
        unmatched,
        index.generation.background,
        encoder,
        calibration.cohort,
    )
    is_covered = signs["coverage"] >= MIN_COVERAGE or not may_be_foreign(texts, encoder)
    if is_covered:
        signs |= read_phrase_signs(index.matrix, hits, candidates)
    return signs


def read_confidence(hits: Sequence[Hit], signs: Mapping[str, float]) -> float:
    """How likely the first hit is right, 0..1, from the signs of the answer, where it has any."""
    if not signs:
        return estimate_confidence(hits)
    return round(combine_signs(load_calibration(), signs), 4)


def estimate_confidence(hits: Sequence[Hit]) -> float:
    """How likely the first hit is right, 0..1, from its relevance and its lead over the next one
    that the query itself found; 0 without hits.
    """
    hits = [hit for hit in hits if not hit.via]
    if not hits:
        return 0.0
    lead = min(MAX_LEAD, hits[0].score - hits[1].score) if len(hits) > 1 else LONE_HIT_LEAD
    return round(logistic(BIAS + RELEVANCE_WEIGHT * hits[0].relevance + LEAD_WEIGHT * lead), 4)


def find_unmatched_words(index: Index, query: Query) -> tuple[str, ...]:
    """The words of the query that no capability uses."""
    return tuple(
        word
        for word in content_words(query.texts)
        if not any(map(index.mentions, correct_spelling(index, word).terms))
    )
