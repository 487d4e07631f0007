"""How likely is the first hit right? A logistic model of signs that mean the same in every
catalogue.

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
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Hit
from capdisc_indexer.retrieval.candidates import MAX_CENTROID_ROWS, Candidates
from capdisc_indexer.retrieval.late_interaction import CENTROID
from capdisc_indexer.retrieval.request_gate import is_made_up, logistic, weigh_unknown_words
from capdisc_indexer.store.matrix import Matrix

CALIBRATION_FILE = Path(__file__).with_name("calibration.json")
CALIBRATION_FORMAT = 1
# The cohort lies beside the numbers as it is: as text in JSON it took a millisecond to read.
COHORT_SUFFIX = ".i8"
# With so many hits the first one is compared by what it meets of the query, with the next nine by
# what it meets of the name; of so many cosines the first is compared with the last.
COMPARED_HITS, NEXT_HITS, COMPARED_COSINES = 20, 9, 10
# A larger lead says no more, and an only hit has this one.
MAX_LEAD, LONE_HIT_LEAD = 0.4, 0.1
SIGNS = (
    "cosine", "elsewhere", "cosine_lead", "coverage", "meets_query_lead", "meets_name_lead",
    "meets_description", "lead", "unknown", "clauses", "made_up",
)  # fmt: skip
# The verdict reads, beside most of them, how well the best of so many hits meets the text by its
# description.
DESCRIBED_HITS = 5
# What is read beside them where the hits were compared by their phrases, and how many of the
# nearest phrases say how densely they lie.
PHRASE_SIGNS = ("meets_phrases", "density_lead")
NEAREST_PHRASES = 5


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
