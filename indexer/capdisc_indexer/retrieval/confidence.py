"""How sure is an answer? The relevance of each hit by words and meaning, and the confidence.

Scores order the hits of one query; relevance can be compared between queries. The confidence is
how likely the first hit is right: a logistic model of signs that mean the same in every catalogue.

`SIGNS` names them. Most compare the first hit with those behind it, so that a catalogue where all
is near everything makes no hit look good. One looks outside: `elsewhere` is the cosine to the
nearest of some 800 capabilities of other catalogues. What is nearer to one of those than to
anything here is mostly a request for something else, and a request in another language than the
catalogue is far from both alike. (Speaker verification normalises scores by such a cohort:
Auckenthaler, Carey and Lloyd-Thomas 2000.)

Where capabilities have phrases, two more signs say how the request lies among those, and all
weights are others (`PHRASE_SIGNS`).

`tools/training/fit_calibration.py` fits the weights, encodes the cohort, writes
`calibration.json` and `calibration.i8`, and prints how well sources do that were left out;
`fit_phrase_confidence.py` adds the weights for phrases.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.errors import EncoderError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Hit, Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.body_passages import BestPassage, terms_in_passages
from capdisc_indexer.retrieval.candidates import MAX_CENTROID_ROWS, Candidates
from capdisc_indexer.retrieval.late_interaction import CENTROID
from capdisc_indexer.retrieval.query_analysis import correct_spelling
from capdisc_indexer.retrieval.request_gate import (
    is_made_up,
    logistic,
    may_be_foreign,
    weigh_unknown_words,
)
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import (
    MAX_QUERY_CHARACTERS,
    STOP_WORDS,
    content_words,
    simple_words,
)

CALIBRATION_FILE = Path(__file__).with_name("calibration.json")
CALIBRATION_FORMAT = 1
# The cohort is a file of bytes next to the numbers: as text in JSON it took a millisecond to read.
COHORT_SUFFIX = ".i8"
# With how many hits the first one is compared by how well it meets the query, and with how many by
# how well it meets the name; and the rank of the cosine that the first cosine is compared with.
COMPARED_HITS, NEXT_HITS, COMPARED_COSINES = 20, 9, 10
# A larger lead says no more; the lead of a hit that is the only one.
MAX_LEAD, LONE_HIT_LEAD = 0.4, 0.1
SIGNS = (
    "cosine", "elsewhere", "cosine_lead", "coverage", "meets_query_lead", "meets_name_lead",
    "meets_description", "lead", "unknown", "clauses", "made_up",
)  # fmt: skip
# Besides most of them, the verdict reads how well the best of this many hits meets the text by its
# description.
DESCRIBED_HITS = 5
# What is read as well where the hits were compared by their phrases, and how many of the nearest
# phrases show how densely they lie.
PHRASE_SIGNS = ("meets_phrases", "density_lead")
NEAREST_PHRASES = 5
# How many hits are calibrated; their order is final by then, so only the first ones matter.
CALIBRATED_HITS = 20
# A text without an English word does not count as one in another language where the catalogue
# covers at least this much of it, the share of its information squared ("stop speaking").
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


@frozen(kw_only=True)
class Calibration:
    """The fitted numbers: a weight for each sign, the bias, and the cohort as rows of int8 of the
    encoder with this fingerprint; `phrase_weights` and `phrase_bias` are in their place where
    there are PHRASE_SIGNS. `verdict_weights` and `verdict_bias` are those of `verdict.py`.
    """

    encoder: str
    weights: Mapping[str, float]
    bias: float
    phrase_weights: Mapping[str, float]
    phrase_bias: float
    verdict_weights: Mapping[str, float]
    verdict_bias: float
    cohort: bytes


@lru_cache(maxsize=2)
def load_calibration(path: Path = CALIBRATION_FILE) -> Calibration:
    """The numbers as `fit_calibration.py` wrote them. Raises EncoderError for another file."""
    try:
        stored = json.loads(path.read_bytes())
        if stored.pop("format") != CALIBRATION_FORMAT:
            raise ValueError("unknown format")
        cohort = path.with_suffix(COHORT_SUFFIX).read_bytes()
        return Calibration(cohort=cohort, **stored)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderError(
            f"the calibration of confidence is missing or damaged: {path}", "reinstall capdisc"
        ) from error


def read_signs(
    texts: Sequence[str],
    hits: Sequence[Hit],
    candidates: Sequence[Sequence[Candidates]],
    unmatched: Sequence[str],
    noise_floor: float,
    encoder: StaticEncoder,
    cohort: bytes,
) -> dict[str, float]:
    """The signs of calibrated hits, of which there is at least one that the query itself found."""
    direct_hits = _select_direct_hits(hits)
    first, others = direct_hits[0], direct_hits[1:]
    text, vector_scores, clause_count = _nearest_text(texts, candidates)
    idfs = [idf for parts in candidates for part in parts for idf in part.idf_by_term.values()]
    return {
        "cosine": _signal(first, "cosine") - noise_floor,
        "elsewhere": _nearest_elsewhere(encoder, text, cohort),
        "cosine_lead": vector_scores[0] - vector_scores[-1] if vector_scores else 0.0,
        "coverage": _signal(first, "coverage") ** 2,
        "meets_query_lead": _signal(first, "meets_query")
        - max(_signal(hit, "meets_query") for hit in others or [first]),
        "meets_name_lead": _signal(first, "meets_name")
        - _mean_signal(others[:NEXT_HITS] or [first], "meets_name"),
        "meets_description": _signal(first, "meets_description"),
        "lead": min(MAX_LEAD, first.score - others[0].score) if others else LONE_HIT_LEAD,
        "unknown": _share_of_unknown(texts, unmatched, encoder),
        "clauses": math.log(clause_count),
        "made_up": float(is_made_up(texts, encoder)),
        "nearest": vector_scores[0] - noise_floor if vector_scores else 0.0,
        "best_description": max(
            _signal(hit, "meets_description") for hit in direct_hits[:DESCRIBED_HITS]
        ),
        "rarest": max(idfs, default=0.0),
    }


def read_phrase_signs(
    matrix: Matrix | None, hits: Sequence[Hit], candidates: Sequence[Sequence[Candidates]]
) -> dict[str, float]:
    """The PHRASE_SIGNS of hits that were compared by their phrases; empty for others.

    A request for something else may be near to one phrase by accident. It is seldom near to all
    that a capability says, and seldom as near to its nearest phrases as those are to each other.
    """
    direct_hits = _select_direct_hits(hits)
    if matrix is None or not any(CENTROID in hit.signals for hit in direct_hits):
        return {}
    nearest = max(candidates, key=lambda parts: max(parts[0].vector.values(), default=0.0))
    rows_of_hits = [matrix.rows_of(hit.id) for hit in direct_hits if CENTROID in hit.signals]
    density_lead = matrix.density_lead(
        nearest[0].query_vector,
        [rows[:MAX_CENTROID_ROWS] for rows in rows_of_hits],
        NEAREST_PHRASES,
    )
    return dict(zip(PHRASE_SIGNS, (_signal(direct_hits[0], CENTROID), density_lead), strict=True))


def _select_direct_hits(hits: Sequence[Hit]) -> list[Hit]:
    """The first hits that the query itself found, not another hit that requires them."""
    return [hit for hit in hits if not hit.via][:COMPARED_HITS]


def combine_signs(calibration: Calibration, signs: Mapping[str, float]) -> float:
    """The confidence 0..1 that these signs give."""
    total, weights = calibration.bias, calibration.weights
    if PHRASE_SIGNS[0] in signs:
        total, weights = calibration.phrase_bias, calibration.phrase_weights
    for name, weight in weights.items():
        total += weight * signs[name]
    return logistic(total)


def _nearest_text(
    texts: Sequence[str], candidates: Sequence[Sequence[Candidates]]
) -> tuple[str, list[float], int]:
    """Of several texts the one that comes nearest to a capability, with its largest cosines and
    the number of its clauses, itself included.
    """
    options = [
        (sorted(parts[0].vector.values(), reverse=True)[:COMPARED_COSINES], text, len(parts))
        for text, parts in zip(texts, candidates, strict=True)
    ]
    cosines, text, clause_count = max(options, key=lambda option: option[0][:1])
    return text, cosines, clause_count


def _nearest_elsewhere(encoder: StaticEncoder, text: str, cohort: bytes) -> float:
    """The largest cosine of the text with a row of the cohort; 0 for a text without meaning."""
    vector = encoder.encode_query(text)
    if not any(vector):
        return 0.0
    rows = memoryview(cohort).cast("b", (len(cohort) // encoder.dim, encoder.dim))
    query = memoryview(vector).cast("b")
    distances: Any = memoryview(lazy_imports.simsimd().cosine(query, rows))
    return 1.0 - float(min(distances.tolist()))


def _share_of_unknown(
    texts: Sequence[str], unmatched: Sequence[str], encoder: StaticEncoder
) -> float:
    """The share 0..1 of what the texts say in words that no capability uses; 0 for a text that
    seems to be in another language than the catalogue.
    """
    unknown = weigh_unknown_words(texts, unmatched, encoder)
    return 0.0 if unknown.is_foreign else unknown.share


def _signal(hit: Hit, name: str) -> float:
    return hit.signals.get(name, 0.0)


def _mean_signal(hits: Sequence[Hit], name: str) -> float:
    total = 0.0
    for hit in hits:
        total += _signal(hit, name)
    return total / len(hits)


# The answer: the relevance of each hit, and how sure the first one is.


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
    """The signs of the answer; empty where the texts themselves found no hit, and where `encoder`,
    which made the vectors, is missing or not the one that the signs were fitted to.
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
