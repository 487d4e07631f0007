"""What speaks for a capability in a turn: the features of each pair, from two searches (for the
whole turn and for its first line), from the kinds of work of both, and from what this person used
before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Hit, Query, Ranking
from capdisc_indexer.retrieval.request_gate import logistic
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.suggestion.model import SuggestionModel, compare_rows
from capdisc_indexer.suggestion.turn_profile import TurnProfile
from capdisc_indexer.text.normalization import STOP_WORDS, simple_words

# The capabilities that are looked at: the first hits of each search, and those that come nearest
# to a typical description of each of the likeliest kinds of work.
FIRST_HITS, LIKELY_KINDS, LEAST_KIND_SHARE, NEAREST_OF_KIND = 5, 2, 0.15, 3
# A cosine with a typical description below this says nothing.
MIN_TYPICAL = 0.3
_NAME_TEXT_CHARACTERS = 1_500
_SIGNALS = ("meets_name", "meets_description", "meets_query", "coverage")


@frozen
class UseHistory:
    """How often this person used a capability, and the vectors of turns before a use."""

    uses: int = 0
    vectors: Sequence[bytes] = ()


@frozen
class Pair:
    """A capability that may be offered for a turn, and its features by name."""

    header: CapabilityHeader
    features: Mapping[str, float] = field(default_factory=dict)


def collect_pairs(
    index: Index,
    model: SuggestionModel,
    turn: TurnProfile,
    rankings: tuple[Ranking, Ranking],
    prompt: str,
    history: Mapping[str, UseHistory],
) -> list[Pair]:
    """The pairs of the turn with what may be offered for it; none without vectors. `rankings` are
    the answers to the whole turn and to its first line, `history` is by name, in small letters.
    """
    matrix = index.matrix
    if matrix is None or not any(turn.head):
        return []
    headers = _find_headers(index, matrix, model, turn, rankings)
    if not headers:
        return []
    ids = list(headers)
    cosines = _compare_capabilities(matrix, model, turn, ids)
    shared = _turn_features(turn, rankings, len(index.documents), history)
    prompt_words = set(simple_words(prompt[:_NAME_TEXT_CHARACTERS].lower())) - STOP_WORDS
    by_search = [_SearchFeatures(ranking) for ranking in rankings]
    pairs = []
    for identifier, row in zip(ids, cosines, strict=True):
        header = headers[identifier]
        past = history.get(header["name"].casefold(), UseHistory())
        pairs.append(
            {
                **shared,
                **by_search[0].read(identifier, ""),
                **by_search[1].read(identifier, "head_"),
                **_kind_features(turn, row),
                "cosine": row.head - index.generation.background,
                "cosine_z": row.standing,
                "name_words": _share_of_name(header["name"], prompt_words),
                "uses": math.log1p(past.uses),
                "near_use": _nearest_use(turn.head, past.vectors, model.dim),
            }
        )
    _add_leads(pairs, ("kind_match", "kind_typical"))
    return [
        Pair(headers[identifier], features)
        for identifier, features in zip(ids, pairs, strict=True)
    ]


def _find_headers(
    index: Index,
    matrix: Matrix,
    model: SuggestionModel,
    turn: TurnProfile,
    rankings: Iterable[Ranking],
) -> dict[str, CapabilityHeader]:
    """The headers of what may be offered, by id: without what its author hides from models."""
    ids = [
        hit.id
        for ranking in rankings
        for hit in [hit for hit in ranking.hits if not hit.via][:FIRST_HITS]
    ]
    likely = sorted(range(len(model.kinds) - 1), key=lambda kind: -turn.kinds[kind])
    for kind in likely[:LIKELY_KINDS]:
        if turn.kinds[kind] > LEAST_KIND_SHARE:
            prototype = bytes(model.rows(model.prototypes + kind, 1).cast("B"))
            ids += [identifier for identifier, _ in matrix.nearest(prototype, NEAREST_OF_KIND)]
    headers = index.documents.headers_for(list(dict.fromkeys(ids)), Query(texts=()))
    return {
        identifier: headers[identifier]
        for identifier in dict.fromkeys(ids)
        if identifier in headers and not headers[identifier].get("hidden")
    }


@frozen(kw_only=True)
class _Cosines:
    """How near a capability is to the first line of the turn (`head`), how far that is above what
    it is to ordinary turns, in standard deviations (`standing`), and by kind how far it is for
    that work (`share`, 0..1) and how near to a typical description (`typical`).
    """

    head: float
    standing: float
    share: Sequence[float]
    typical: Sequence[float]


def _compare_capabilities(
    matrix: Matrix, model: SuggestionModel, turn: TurnProfile, ids: Sequence[str]
) -> list[_Cosines]:
    rows = [matrix.first_row(identifier) for identifier in ids]
    data = b"".join(bytes(matrix.bytes_of(row, row + 1)) for row in rows)
    vectors = memoryview(data).cast("b", (len(rows), model.dim))
    kinds, linear = len(model.kinds) - 1, model.of_capability
    by_head = compare_rows(vectors, memoryview(turn.head).cast("b", (1, model.dim)))
    by_kind = compare_rows(vectors, model.rows(linear.start, kinds))
    by_prototype = compare_rows(vectors, model.rows(model.prototypes, kinds))
    by_cohort = compare_rows(vectors, model.cohort_rows)
    cosines = []
    for (head,), kind_row, typical, cohort in zip(
        by_head, by_kind, by_prototype, by_cohort, strict=True
    ):
        mean = sum(cohort) / len(cohort)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in cohort) / len(cohort))
        shares = [
            logistic(bias + scale * cosine)
            for bias, scale, cosine in zip(linear.biases, linear.scales, kind_row, strict=True)
        ]
        standing = (head - mean) / (deviation + 1e-6)
        cosines.append(_Cosines(head=head, standing=standing, share=shares, typical=typical))
    return cosines


def _turn_features(
    turn: TurnProfile,
    rankings: tuple[Ranking, Ranking],
    catalogue: int,
    history: Mapping[str, UseHistory],
) -> dict[str, float]:
    """What all pairs of the turn share."""
    *kinds, no_kind = turn.kinds
    return {
        "kind_none": no_kind,
        "kind_first": max(kinds),
        "confidence": rankings[0].confidence,
        "head_confidence": rankings[1].confidence,
        "characters": math.log1p(turn.characters),
        "head_characters": math.log1p(turn.head_characters),
        "asks": turn.asks,
        "head_asks": turn.head_asks,
        "unknown": min(1.0, len(rankings[0].unmatched) / turn.words),
        "turn": float(min(turn.earlier_turns, 6)),
        "coding": turn.coding_here,
        "catalogue": math.log10(catalogue + 1),
        "history": math.log1p(sum(past.uses for past in history.values())),
    }


def _kind_features(turn: TurnProfile, row: _Cosines) -> dict[str, float]:
    *kinds, _ = turn.kinds
    matches = [chance * share for chance, share in zip(kinds, row.share, strict=True)]
    typical = [max(0.0, value - MIN_TYPICAL) for value in row.typical]
    first = max(range(len(kinds)), key=lambda kind: kinds[kind])
    best = max(range(len(kinds)), key=lambda kind: matches[kind])
    return {
        "kind_match": sum(matches),
        "kind_share": row.share[first],
        "kind_typical": sum(map(mul, matches, typical)),
        "typical": row.typical[best],
    }


class _SearchFeatures:
    """The features of the hits of one ranking."""

    def __init__(self, ranking: Ranking) -> None:
        self._hits = {hit.id: hit for hit in ranking.hits}
        self._scores = sorted((hit.score for hit in ranking.hits if not hit.via), reverse=True)

    def read(self, identifier: str, prefix: str) -> dict[str, float]:
        """The features of one capability by name, 0 each where it is not a hit."""
        hit = self._hits.get(identifier)
        score = hit.score if hit else 0.0
        best, second = (*self._scores, 0.0, 0.0)[:2]
        features = {
            "score": score,
            "share": score / best if best else 0.0,
            "lead": score - (second if hit and score == best else best),
            "relevance": hit.relevance if hit else 0.0,
            **{name: _signal(hit, name) for name in _SIGNALS},
        }
        return {f"{prefix}{name}": value for name, value in features.items()}


def _signal(hit: Hit | None, name: str) -> float:
    return hit.signals.get(name, 0.0) if hit else 0.0


def _share_of_name(name: str, prompt_words: set[str]) -> float:
    """The share of the words of a name that the prompt has."""
    words = [word for word in simple_words(name.lower()) if word not in STOP_WORDS]
    return sum(word in prompt_words for word in words) / max(len(words), 1)


def _nearest_use(head: bytes, vectors: Sequence[bytes], dim: int) -> float:
    """The largest cosine of the turn with turns before a use of the capability; 0 without one."""
    rows = [vector for vector in vectors if len(vector) == dim and any(vector)]
    if not rows:
        return 0.0
    use_vectors = memoryview(b"".join(rows)).cast("b", (len(rows), dim))
    (cosines,) = compare_rows(memoryview(head).cast("b", (1, dim)), use_vectors)
    return max(cosines)


def _add_leads(rows: Sequence[dict[str, float]], names: Iterable[str]) -> None:
    """Add to each of the rows how far its value of these names is ahead of the best other one."""
    for name in names:
        best, second = (*sorted((row[name] for row in rows), reverse=True), 0.0)[:2]
        for row in rows:
            row[f"{name}_lead"] = row[name] - (second if row[name] == best else best)
