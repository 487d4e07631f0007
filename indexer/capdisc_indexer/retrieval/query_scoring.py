"""One text of a query as scores: the whole text, raised by its clauses, then the first candidates
read more closely.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter, mul
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.static_encoder import FIXED_POINT_ONE, StaticEncoder
from capdisc_indexer.encoders.token_bags import decode_bag
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.fusion import coverage
from capdisc_indexer.retrieval.query_analysis import content_clauses, correct_spelling
from capdisc_indexer.store import text_queries
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import inverse_document_frequency

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Late interaction: every piece of the query looks for its like among a capability's pieces, and
# the other way round.
#
# One vector a text blurs what it says; here each word is heard. This is ColBERT's sum of best
# matches (Khattab and Zaharia 2020) over rows of the static table instead of a transformer's, each
# match weighed by what its piece is worth.
#
# There are two ways to the same sums: one without arrays, whose import would double the time of a
# cold query, and one with them, which takes a fifth of the time in a process that has them anyway (a
# server, an evaluation). The sums are of whole numbers, so that no order of adding up changes them.

# The sums of late interaction from lists, for a process that asks once.

MatchSums = tuple[tuple[int, ...], tuple[int, ...]]


def python_sums(
    encoder: StaticEncoder, query_ids: Sequence[int], bags: Sequence[bytes]
) -> list[MatchSums]:
    """For each packed bag, which is not empty, the worth that is met and the worth there is: of
    the asked pieces, of its name, and of its name and description.
    """
    token_bags = list(map(decode_bag, bags))
    wholes = [(*full.name, *full.description, *full.body) for full in token_bags]
    pieces = list(dict.fromkeys(chain.from_iterable(wholes)))
    pairwise = encoder.compute_distances(query_ids, pieces)
    rows, weights = pairwise.distances, pairwise.other_weights
    position_of = dict(zip(pieces, range(len(pieces)), strict=True))
    matched_weights = list(
        map(mul, weights, map(_fixed_point_cosine, map(min, *rows) if len(rows) > 1 else rows[0]))
    )
    results = []
    for full, bag_ids in zip(token_bags, wholes, strict=True):
        positions = list(map(position_of.__getitem__, bag_ids))
        ends = len(full.name), len(full.name) + len(full.description)
        matched = [sum(matched_weights[at] for at in positions[:end]) for end in ends]
        totals = [sum(weights[at] for at in positions[:end]) for end in ends]
        results.append(
            (
                (_sum_best_matches(rows, pairwise.weights, positions), *matched),
                (sum(pairwise.weights), *totals),
            )
        )
    return results


def _fixed_point_cosine(distance: float) -> int:
    """The cosine in `WHOLE`ths, 0 where it points away."""
    return int(FIXED_POINT_ONE * max(0.0, 1.0 - distance))


def _sum_best_matches(
    rows: Sequence[Sequence[float]], weights: Sequence[int], positions: Sequence[int]
) -> int:
    """The best match of each asked piece among the places, times its worth."""
    # The first place twice: of a single one, itemgetter would give no tuple.
    at_places = itemgetter(positions[0], *positions)
    return sum(map(mul, weights, [_fixed_point_cosine(min(at_places(row))) for row in rows]))


# The sums of late interaction from arrays, for a process that asks again and again.


def numpy_sums(
    encoder: StaticEncoder, query_ids: Sequence[int], bags: Sequence[bytes]
) -> list[MatchSums]:
    """The very sums of `without_arrays`."""
    np = lazy_imports.numpy()
    ids = np.frombuffer(b"".join([bag[8:] for bag in bags]), np.uint32)
    ends = np.cumsum([len(bag) // 4 - 2 for bag in bags])
    starts = np.concatenate([[0], ends[:-1]])
    pieces, positions = np.unique(ids, return_inverse=True)
    cosines = _fixed_point_cosines(encoder, query_ids, pieces)
    # `take` is ten times as fast here as an index in brackets.
    best = np.maximum.reduceat(cosines.take(positions, axis=1), starts, axis=1)
    query_weights, weights = (
        encoder.fixed_point_weights[list(query_ids)],
        encoder.fixed_point_weights.take(ids),
    )
    matched_weights = cosines.max(axis=0).take(positions) * weights
    lengths = np.frombuffer(b"".join([bag[:8] for bag in bags]), np.uint32).reshape(-1, 2)
    to = starts + np.cumsum(lengths, axis=1, dtype=np.int64).T
    matched = [query_weights @ best, *_sum_ranges(matched_weights, starts, to)]
    totals = [np.full(len(bags), query_weights.sum()), *_sum_ranges(weights, starts, to)]
    return list(zip(np.transpose(matched).tolist(), np.transpose(totals).tolist(), strict=True))


def _fixed_point_cosines(
    encoder: StaticEncoder, query_ids: Sequence[int], pieces: NDArray[Any]
) -> NDArray[Any]:
    """The cosines in `WHOLE`ths, 0 where they point away, (asked, pieces) int64."""
    np = lazy_imports.numpy()
    rows = encoder.table.take(query_ids, axis=0), encoder.table.take(pieces, axis=0)
    distances = np.asarray(lazy_imports.simsimd().cdist(*rows, metric="cosine"))
    cosines: NDArray[Any] = (FIXED_POINT_ONE * np.maximum(0.0, 1.0 - distances)).astype(np.int64)
    return cosines


def _sum_ranges(values: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """What the values from each start up to its end add up to, a row for each row of ends."""
    np = lazy_imports.numpy()
    until = np.concatenate([[0], np.cumsum(values)])
    sums_of_ranges: NDArray[Any] = until[ends] - until[starts]
    return sums_of_ranges


MAX_QUERY_TOKENS = 48


@frozen
class MaxSimScores:
    """Shares 0..1: of the query that the capability meets, and of its name and its description
    that the query meets.
    """

    query: float = 0.0
    name: float = 0.0
    description: float = 0.0


def max_sim(
    encoder: StaticEncoder, text: str, bags: Mapping[str, bytes]
) -> dict[str, MaxSimScores]:
    """How each packed bag and the text meet; nothing met where either has no known piece."""
    query_ids = list(dict.fromkeys(encoder.token_ids(text)))[:MAX_QUERY_TOKENS]
    filled = {key: data for key, data in bags.items() if len(data) > 8}
    zero_scores = dict.fromkeys(bags, MaxSimScores())
    if not query_ids or not filled:
        return zero_scores
    has_numpy = lazy_imports.numpy_if_loaded() is not None
    compute_sums = numpy_sums if has_numpy else python_sums
    sums = compute_sums(encoder, query_ids, list(filled.values()))
    return zero_scores | {
        key: MaxSimScores(*map(_matched_share, *sums_of_bag))
        for key, sums_of_bag in zip(filled, sums, strict=True)
    }


def _matched_share(matched: int, weight: int) -> float:
    return matched / (FIXED_POINT_ONE * weight) if weight else 0.0


# The first look: the best documents by words, and the nearest by vectors, both past the query's
# filters.

# Enough that the order among them, not their choice, is what is left to improve.
CANDIDATES_PER_CHANNEL = 100


@frozen(kw_only=True)
class Candidates:
    """BM25 scores and cosines by id, the heads of all of them, and what each searched term says
    (its IDF); the vectors took `vectors_s`.
    """

    information: dict[str, float]
    known_share: float
    lexical: dict[str, float]
    vector: dict[str, float]
    headers: dict[str, CapabilityHeader]
    vectors_s: float = 0.0


def find_candidates(
    index: Index, text: str, query: Query, encoder: Encoder | None, mode: str
) -> Candidates:
    """The candidates for one text."""
    corrected = correct_spelling(index.documents, text)
    terms = corrected.terms
    frequency = {term: index.documents.document_frequency(term) for term in terms}
    idf_by_term = {
        term: inverse_document_frequency(count, len(index.documents))
        for term, count in frequency.items()
    }
    scored = (
        index.documents.search(terms, query, CANDIDATES_PER_CHANNEL)
        if mode != "vector" or encoder is None
        else []
    )
    lexical = {header["id"]: score for score, header in scored}
    headers = {header["id"]: header for _, header in scored}
    started = time.perf_counter()
    vector = _find_nearest(index, corrected.text, query, encoder) if encoder else {}
    vectors_s = time.perf_counter() - started
    headers |= index.documents.headers_for([key for key in vector if key not in headers], query)
    # Skills that their author hides from the model are indexed and can be shown, but are never
    # offered.
    headers = {key: header for key, header in headers.items() if not header.get("hidden")}
    return Candidates(
        information=idf_by_term,
        known_share=coverage(idf_by_term, frozenset(term for term in terms if frequency[term])),
        lexical={key: score for key, score in lexical.items() if key in headers},
        headers=headers,
        vector={key: cosine for key, cosine in vector.items() if key in headers},
        vectors_s=vectors_s,
    )


def _find_nearest(index: Index, text: str, query: Query, encoder: Encoder) -> dict[str, float]:
    """Cosines of the nearest capabilities that pass the filters; looks further while filters leave
    too few.
    """
    if index.matrix is None:
        return {}
    vector, count = encoder.encode_query(text), CANDIDATES_PER_CHANNEL
    while True:
        nearest = index.matrix.nearest(vector, count)
        passing = (
            index.documents.headers_for([key for key, _ in nearest], query)
            if text_queries.has_filters(query)
            else None
        )
        cosines = {key: cosine for key, cosine in nearest if passing is None or key in passing}
        if len(cosines) >= CANDIDATES_PER_CHANNEL or len(nearest) < count:
            return dict(list(cosines.items())[:CANDIDATES_PER_CHANNEL])
        count *= 4


# How many candidates are read closely: what stands further down does not come up among the first
# ten. On eight data sets 35 gave what 60 give, in three quarters of the time.
RERANK_DEPTH = 40


@frozen
class QueryScores:
    """Scores 0..1 by id, and what they come from: the look-ups (the whole text first, then its
    clauses), and how the first candidates and the text meet.
    """

    scores: dict[str, float]
    lookups: tuple[Candidates, ...]
    max_sims: Mapping[str, MaxSimScores] = field(default_factory=dict)


def score_query(
    index: Index,
    text: str,
    query: Query,
    encoder: Encoder | None,
    reranker: StaticEncoder | None,
    mode: str,
) -> QueryScores:
    """The scores of everything that the text, or a clause of it, may mean; without a reader
    nothing is read closely.
    """
    lookups = tuple(
        find_candidates(index, part, query, encoder, mode)
        for part in (text, *content_clauses(text))
    )
    text_scores, *parts = (
        fusion.fuse(lookup.lexical, lookup.vector, lookup.known_share) for lookup in lookups
    )
    scores = fusion.with_clauses(text_scores, parts)
    if reranker is None:
        return QueryScores(scores, lookups)
    first = [key for key, _ in fusion.order_scores(scores)[:RERANK_DEPTH]]
    max_sims, no_match = max_sim(reranker, text, index.documents.token_bags(first)), MaxSimScores()
    return QueryScores(
        {key: _rerank_score(score, max_sims.get(key, no_match)) for key, score in scores.items()},
        lookups,
        max_sims,
    )


def _rerank_score(score: float, match: MaxSimScores) -> float:
    return fusion.with_late_interaction(score, match.query, match.name, match.description)
