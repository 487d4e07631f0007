"""How sure the answer is: the absolute relevance of each hit, and from it refusal and
confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.query_analysis import correct_spelling
from capdisc_indexer.retrieval.query_scoring import Candidates
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    STOP_WORDS,
    simple_words,
    unique_words,
    without_stop_words,
)

# When no hit reaches this, nothing is returned: none shares enough of what the query says, in
# words or in meaning.
MIN_RELEVANCE = 0.1
# How many hits are judged; the order is settled before, so that the first ones are what counts.
CALIBRATED_HITS = 20
# How far above what meaningless queries reach a cosine has to be to stand for a full match: half
# of all real queries come closer than that (eight data sets, the shipped encoder).
FULL_MATCH_MARGIN = 0.42
# What is left of a likeness in meaning when no word of the query is a word in any language that
# the encoder knows: its pieces still mean something, by accident. Of made-up queries 96 in a
# hundred are refused so, 90 without it.
OOV_PENALTY = 0.2
# A logistic model of "the first hit is right". Fitted on seven data sets it says of the eighth:
# where it gives 0.32, 35 in a hundred are right; 0.51, 51; 0.69, 69; 0.89, 92.
BIAS, RELEVANCE_WEIGHT, LEAD_WEIGHT, MAX_LEAD = -1.36, 1.76, 8.29, 0.4
# Where there is nothing to lead before.
LONE_HIT_LEAD = 0.1


def calibrate(
    index: Index,
    hits: Sequence[Hit],
    lookups: Sequence[Candidates],
    is_out_of_vocabulary: bool,
    mode: str,
) -> list[Hit]:
    """The hits with their relevance, from a query's candidates; `is_out_of_vocabulary`: none of
    its words is one.
    """
    terms = list(dict.fromkeys(term for lookup in lookups for term in lookup.information))
    terms_by_id = index.documents.matching_terms(terms, [hit.id for hit in hits])
    level, share = index.generation.background, OOV_PENALTY if is_out_of_vocabulary else 1.0
    return [
        _with_relevance(hit, terms_by_id.get(hit.id, frozenset()), lookups, mode, level, share)
        for hit in hits
    ]


def has_only_stop_words(texts: Sequence[str]) -> bool:
    """Whether the texts hold nothing but small words ("how are you"): sharing those means
    nothing.
    """
    return all(
        word.lower() in STOP_WORDS
        for text in texts
        for word in simple_words(text[:MAX_QUERY_CHARACTERS])
    )


def passes_refusal_threshold(hits: Sequence[Hit]) -> bool:
    """Whether one of the first hits says enough about the query."""
    return any(hit.relevance >= MIN_RELEVANCE for hit in hits[:CALIBRATED_HITS])


def _with_relevance(
    hit: Hit,
    present_terms: frozenset[str],
    lookups: Sequence[Candidates],
    mode: str,
    level: float,
    share: float,
) -> Hit:
    coverage = max(
        (fusion.coverage(lookup.information, present_terms) for lookup in lookups), default=0.0
    )
    signals = {name: round(value, 4) for name, value in hit.signals.items()}
    cosine = signals.get("cosine", 0.0)
    similar = (
        None
        if mode == "lexical"
        else share * fusion.similarity(cosine, level, level + FULL_MATCH_MARGIN)
    )
    signals["coverage"] = round(coverage, 4)
    return replace(hit, relevance=round(fusion.relevance(coverage, similar), 4), signals=signals)


def estimate_confidence(calibrated: Sequence[Hit]) -> float:
    """How likely the first hit is right, 0..1, from its relevance and its lead over the next one
    that was asked for.
    """
    hits = [hit for hit in calibrated if not hit.via]
    if not hits:
        return 0.0
    lead = min(MAX_LEAD, hits[0].score - hits[1].score) if len(hits) > 1 else LONE_HIT_LEAD
    return round(
        1.0 / (1.0 + math.exp(-(BIAS + RELEVANCE_WEIGHT * hits[0].relevance + LEAD_WEIGHT * lead))),
        4,
    )


def find_unmatched_words(index: Index, query: Query) -> tuple[str, ...]:
    """The words of the query that no capability uses."""
    content_words = without_stop_words(
        [word for text in query.texts for word in unique_words(text[:MAX_QUERY_CHARACTERS])]
    )
    documents = index.documents
    return tuple(
        word
        for word in dict.fromkeys(content_words)
        if not any(
            documents.document_frequency(term) for term in correct_spelling(documents, word).terms
        )
    )
