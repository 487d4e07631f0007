"""Reranks the first candidates by late interaction: each word of the query is compared with each
word of a capability.

`SIGNALS` lists what the comparison gives and what it is worth. One vector for a text blurs what
the text says; here every token looks for its most similar token on the other side. This is
ColBERT's MaxSim (Khattab and Zaharia 2020) over rows of the static embedding table instead of a
transformer's output, and each match counts by the weight of its token.

`python_sums` and `numpy_sums` give the same sums. The import of numpy would double the time of a
cold query; in a process that has it anyway (a server, an evaluation) it takes a fifth of the time.
The sums are of whole numbers, so that the order of addition cannot change them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from operator import itemgetter, mul
from typing import TYPE_CHECKING, Any, TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders.static_encoder import FIXED_POINT_ONE, StaticEncoder
from capdisc_indexer.encoders.word_pieces import decode_bag
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.body_passages import add_gains
from capdisc_indexer.retrieval.candidates import compare_with_centroids
from capdisc_indexer.retrieval.fusion import REQUEST, Weights
from capdisc_indexer.retrieval.query_analysis import AnalysedText
from capdisc_indexer.store.snapshot import Index

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many candidates are reranked: what stands further down does not come up among the first ten.
# On eight data sets 35 gave what 60 give, in three quarters of the time.
RERANK_DEPTH = 40
# A request of 2,000 characters without its payload has some 150 different tokens. 96 of them gain
# what 160 gain (0.4 points over 48 where requests are longest), in half of the time.
MAX_QUERY_TOKENS = 96

# Of one capability: the token weight that has a match, and all of it; each for the query's tokens,
# for those of the name, and for those of name and description.
MatchSums: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


@frozen
class MaxSimScores:
    """Shares 0..1 of token weight that has a match on the other side.

    `query`: of the query's tokens, among all tokens of the capability; `name` and `description`:
    of the tokens of the name, and of name and description, among those of the query.
    """

    query: float = 0.0
    name: float = 0.0
    description: float = 0.0


@frozen
class Comparison:
    """One text of a query beside one of its candidates: what a signal is computed from."""

    text: str
    header: CapabilityHeader
    max_sim: MaxSimScores


@frozen
class Signal:
    """One number 0..1 that reranking adds to the fused score.

    `name` is its key in `--explain` and in JSON; the fused score has the weight 1. `is_label` says
    whether name or description is compared, which say little about a task.
    """

    name: str
    weight: float
    value: Callable[[Comparison], float]
    is_label: bool = False

    def weight_of(self, weights: Weights) -> float:
        """Its weight for a text with these weights."""
        return self.weight * (weights.labels if self.is_label else 1.0)


# Together worth 1.7 points on average; every data set gains.
SIGNALS: tuple[Signal, ...] = (
    Signal("meets_query", 1.5, lambda comparison: comparison.max_sim.query),
    Signal("meets_name", 0.4, lambda comparison: comparison.max_sim.name, is_label=True),
    Signal(
        "meets_description",
        0.4,
        lambda comparison: comparison.max_sim.description,
        is_label=True,
    ),
)


# The keys in `--explain` of what a capability gains by its best passage, and as the answer to
# clauses of the text.
PASSAGE, ANSWERS_CLAUSE = "passage", "answers_clause"
# The key of the cosine with the mean of all texts of a capability, and its weight beside the score
# where the candidates have phrases. The nearest phrase decides which capability comes near; of
# several that have one, the mean tells which is about that. Chosen on ten sources of requests with
# examples (0.4 to 0.8 gain 0.6 to 1.0 points; whichever is left out, 0.8 is best on the others).
# Vectors of the differences within a capability (a discriminant) gained 0.1 points more.
CENTROID, CENTROID_WEIGHT = "meets_phrases", 0.8


@frozen
class Reranking:
    """Scores 0..1 by id; and by the name of each signal, its values by id."""

    scores: dict[str, float]
    signals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def rerank(
    index: Index,
    encoder: StaticEncoder | None,
    text: AnalysedText,
    part_scores: Sequence[dict[str, float]],
    headers: Mapping[str, CapabilityHeader],
    gains: Mapping[str, float],
    query_vector: bytes = b"",
) -> Reranking:
    """The fused scores of one text with the signals of the first candidates in them, and with the
    gains of their passages.

    `part_scores` are the fused scores of the text and of each of its clauses, `gains` those of the
    passages by id, and `query_vector` is the encoded whole text. Where there are clauses, each
    of them is reranked like a text of its own, and what stands out as the answer to one is raised
    (`fusion.cover_clauses`). Without an encoder there are no signals but that of the passages.
    """
    texts, weights = text.part_texts, text.weights
    scores = fusion.add_clauses(part_scores[0], part_scores[1:], weights.clause)
    raised_scores = add_gains(scores, gains)
    gain_signals = {PASSAGE: gains} if gains else {}
    if encoder is None:
        return Reranking(raised_scores, gain_signals)
    first_ids = [key for key, _ in fusion.order_scores(raised_scores)[:RERANK_DEPTH]]
    max_sims = max_sim_of_parts(encoder, texts, index.documents.token_bags(first_ids))
    signals_of_parts = [
        _compute_signals(part, max_sims_of_part, headers)
        for part, max_sims_of_part in zip(texts, max_sims, strict=True)
    ]
    centroids = compare_with_centroids(index, query_vector, first_ids)
    weight = CENTROID_WEIGHT * centroids.weight
    text_scores = add_weighted(
        add_signals(scores, signals_of_parts[0], weights), centroids.cosines, weight
    )
    reranked_scores = add_gains(text_scores, gains)
    signals = signals_of_parts[0] | gain_signals
    if weight:
        signals |= {CENTROID: centroids.cosines}
    if len(texts) == 1:
        return Reranking(reranked_scores, signals)
    # The weight without values keeps the clauses on the scale of the whole.
    clause_scores = [
        add_weighted(add_signals(clause, signals_of_part, weights), {}, weight)
        for clause, signals_of_part in zip(part_scores[1:], signals_of_parts[1:], strict=True)
    ]
    covered_scores = fusion.cover_clauses(reranked_scores, clause_scores, first_ids, weights.cover)
    clause_gains = {key: covered_scores[key] - reranked_scores[key] for key in first_ids}
    return Reranking(covered_scores, signals | {ANSWERS_CLAUSE: clause_gains})


def _compute_signals(
    text: str, max_sims: Mapping[str, MaxSimScores], headers: Mapping[str, CapabilityHeader]
) -> dict[str, dict[str, float]]:
    """The values of each signal by id."""
    comparisons = {
        key: Comparison(text, headers[key], max_sims_of_key)
        for key, max_sims_of_key in max_sims.items()
    }
    return {
        signal.name: {key: signal.value(comparison) for key, comparison in comparisons.items()}
        for signal in SIGNALS
    }


def add_signals(
    scores: Mapping[str, float],
    signals: Mapping[str, Mapping[str, float]],
    weights: Weights = REQUEST,
) -> dict[str, float]:
    """The weighted mean of the fused score (weight 1) and the signals; missing values count 0."""
    # Added one by one: from Python 3.12 on `sum` rounds in another way, and the same index has to
    # give the same scores everywhere.
    total_weight = 1.0
    for signal in SIGNALS:
        total_weight += signal.weight_of(weights)
    reranked_scores = {}
    for key, score in scores.items():
        gain = 0.0
        for signal in SIGNALS:
            gain += signal.weight_of(weights) * signals[signal.name].get(key, 0.0)
        reranked_scores[key] = (score + gain) / total_weight
    return reranked_scores


def add_weighted(
    scores: Mapping[str, float], values: Mapping[str, float], weight: float
) -> dict[str, float]:
    """The mean of each score (weight 1) and its value; missing values count 0."""
    if not weight:
        return dict(scores)
    return {
        key: (score + weight * values.get(key, 0.0)) / (1.0 + weight)
        for key, score in scores.items()
    }


def max_sim_of_parts(
    encoder: StaticEncoder, texts: Sequence[str], bags: Mapping[str, bytes]
) -> list[dict[str, MaxSimScores]]:
    """How each text matches each encoded token bag; all 0 where either has no known token.

    The tokens of all texts are compared once, so that the clauses of a text cost little beside
    it. At most MAX_QUERY_TOKENS different tokens count, those of the first text before the others.
    """
    ids_of_texts = [list(dict.fromkeys(encoder.token_ids(text))) for text in texts]
    query_ids = list(dict.fromkeys(chain.from_iterable(ids_of_texts)))[:MAX_QUERY_TOKENS]
    filled_bags = {key: data for key, data in bags.items() if len(data) > 8}
    no_match = dict.fromkeys(bags, MaxSimScores())
    if not query_ids or not filled_bags:
        return [dict(no_match) for _ in texts]
    position_of = dict(zip(query_ids, range(len(query_ids)), strict=True))
    parts = [[position_of[key] for key in ids if key in position_of] for ids in ids_of_texts]
    has_numpy = lazy_imports.numpy_if_loaded() is not None
    compute_sums = numpy_sums if has_numpy else python_sums
    sums_of_parts = compute_sums(encoder, query_ids, list(filled_bags.values()), parts)
    return [
        no_match
        | {
            key: MaxSimScores(*map(_matched_share, *sums_of_bag))
            for key, sums_of_bag in zip(filled_bags, sums, strict=True)
        }
        for sums in sums_of_parts
    ]


def _matched_share(matched: int, weight: int) -> float:
    return matched / (FIXED_POINT_ONE * weight) if weight else 0.0


def python_sums(
    encoder: StaticEncoder,
    query_ids: Sequence[int],
    bags: Sequence[bytes],
    parts: Sequence[Sequence[int]],
) -> list[list[MatchSums]]:
    """For each part, given as positions in `query_ids`, the sums of each encoded bag from lists;
    no bag may be empty.
    """
    token_bags = list(map(decode_bag, bags))
    ids_of_bags = [(*bag.name, *bag.description, *bag.body) for bag in token_bags]
    ends_of_bags = [(len(bag.name), len(bag.name) + len(bag.description)) for bag in token_bags]
    distinct_ids = list(dict.fromkeys(chain.from_iterable(ids_of_bags)))
    pairwise = encoder.compute_distances(query_ids, distinct_ids)
    rows, weights = pairwise.distances, pairwise.other_weights
    position_of = dict(zip(distinct_ids, range(len(distinct_ids)), strict=True))
    positions_of_bags = [list(map(position_of.__getitem__, ids)) for ids in ids_of_bags]
    best_of_bags = [
        _find_best_matches(rows, pairwise.weights, positions) for positions in positions_of_bags
    ]
    totals_of_bags = [
        [sum(weights[position] for position in positions[:end]) for end in ends]
        for positions, ends in zip(positions_of_bags, ends_of_bags, strict=True)
    ]
    results: list[list[MatchSums]] = []
    for part in parts:
        part_rows = [rows[position] for position in part]
        nearest = map(min, *part_rows) if len(part) > 1 else chain.from_iterable(part_rows)
        cosines = map(_fixed_point_cosine, nearest) if part else repeat(0)
        matched_weights = list(map(mul, weights, cosines))
        part_weight = sum(pairwise.weights[position] for position in part)
        results.append([])
        for positions, ends, best, totals in zip(
            positions_of_bags, ends_of_bags, best_of_bags, totals_of_bags, strict=True
        ):
            matched = [
                sum(matched_weights[position] for position in positions[:end]) for end in ends
            ]
            results[-1].append(
                ((sum(best[position] for position in part), *matched), (part_weight, *totals))
            )
    return results


def _fixed_point_cosine(distance: float) -> int:
    """The cosine in units of 1 / FIXED_POINT_ONE, 0 where it is negative."""
    return int(FIXED_POINT_ONE * max(0.0, 1.0 - distance))


def _find_best_matches(
    rows: Sequence[Sequence[float]], weights: Sequence[int], positions: Sequence[int]
) -> list[int]:
    """For each of the query's tokens its best match at these positions, times its weight."""
    # The first position twice: of a single one, itemgetter would give no tuple.
    at_positions = itemgetter(positions[0], *positions)
    return list(map(mul, weights, [_fixed_point_cosine(min(at_positions(row))) for row in rows]))


def numpy_sums(
    encoder: StaticEncoder,
    query_ids: Sequence[int],
    bags: Sequence[bytes],
    parts: Sequence[Sequence[int]],
) -> list[list[MatchSums]]:
    """The sums of each part and encoded bag from arrays: the same numbers as `python_sums`."""
    np = lazy_imports.numpy()
    ids = np.frombuffer(b"".join([bag[8:] for bag in bags]), np.uint32)
    ends = np.cumsum([len(bag) // 4 - 2 for bag in bags])
    starts = np.concatenate([[0], ends[:-1]])
    distinct_ids, positions = np.unique(ids, return_inverse=True)
    cosines = _fixed_point_cosines(encoder, query_ids, distinct_ids)
    # `take` is ten times as fast here as an index in brackets.
    best = np.maximum.reduceat(cosines.take(positions, axis=1), starts, axis=1)
    query_weights = encoder.fixed_point_weights[list(query_ids)]
    weights = encoder.fixed_point_weights.take(ids)
    lengths = np.frombuffer(b"".join([bag[:8] for bag in bags]), np.uint32).reshape(-1, 2)
    field_ends = starts + np.cumsum(lengths, axis=1, dtype=np.int64).T
    totals = _sum_ranges(weights, starts, field_ends)
    results = []
    for part in parts:
        nearest = cosines[part].max(axis=0, initial=0)
        matched = [
            query_weights[part] @ best[part],
            *_sum_ranges(nearest.take(positions) * weights, starts, field_ends),
        ]
        weight_of_part = np.full(len(bags), query_weights[part].sum())
        matched_and_totals = (
            np.transpose(values).tolist() for values in (matched, [weight_of_part, *totals])
        )
        results.append(list(zip(*matched_and_totals, strict=True)))
    return results


def _fixed_point_cosines(
    encoder: StaticEncoder, query_ids: Sequence[int], token_ids: NDArray[Any]
) -> NDArray[Any]:
    """The cosines in units of 1 / FIXED_POINT_ONE, 0 where negative: (query, tokens) int64."""
    np = lazy_imports.numpy()
    rows = encoder.table.take(query_ids, axis=0), encoder.table.take(token_ids, axis=0)
    distances = np.asarray(lazy_imports.simsimd().cdist(*rows, metric="cosine"))
    cosines: NDArray[Any] = (FIXED_POINT_ONE * np.maximum(0.0, 1.0 - distances)).astype(np.int64)
    return cosines


def _sum_ranges(values: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """The sums of the values from each start up to its end, a row for each row of ends."""
    np = lazy_imports.numpy()
    until = np.concatenate([[0], np.cumsum(values)])
    sums_of_ranges: NDArray[Any] = until[ends] - until[starts]
    return sums_of_ranges
