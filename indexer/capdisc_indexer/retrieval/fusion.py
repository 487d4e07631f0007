"""Pure ranking steps: scores in, scores out, every one of them on 0..1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

# The share of words in a fused score when the catalogue knows every word of the query. The less of
# it the catalogue knows, the less its words are asked: that gained 0.5 points on eight data sets
# against a fixed 0.5, and 2 where people ask without the author's words. Reciprocal rank fusion
# lost 2.5.
LEXICAL_SHARE = 0.6
# Several phrasings of one wish: the best one counts fully, agreement of the others adds a little.
AGREEMENT_SHARE = 0.25
# What the best clause of a query adds to the whole: all that a query needs was found within ten 2
# points more often, 7 on the data set with the most clauses; level from 0.3 to 0.5. Clauses in
# place of the whole lost 4 points.
CLAUSE_SHARE = 0.4
# What late interaction adds to the first candidates: how much of the query each one meets, and how
# much of its name and of its description the query meets. Together worth 1.7 points on average;
# every data set gains.
QUERY_MATCH_WEIGHT, NAME_MATCH_WEIGHT, DESCRIPTION_MATCH_WEIGHT = 1.5, 0.4, 0.4


def scale_by_maximum(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the largest one."""
    top = max(scores.values(), default=0.0)
    return {key: value / top for key, value in scores.items()} if top > 0 else {}


def scale_by_range(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores stretched so that the smallest becomes 0 and the largest 1; a single score becomes
    1.
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {
        key: (value - low) / (high - low) if high > low else 1.0 for key, value in scores.items()
    }


def fuse(
    lexical: Mapping[str, float], vector: Mapping[str, float], known_share: float = 1.0
) -> dict[str, float]:
    """The convex combination of BM25 (by its maximum) and cosine (by its range); what one side
    lacks counts 0 there.

    `known_share` is the share 0..1 of the query's information that lies in words of the catalogue.
    """
    words, meaning = scale_by_maximum(lexical), scale_by_range(vector)
    share = LEXICAL_SHARE * known_share if words and meaning else 1.0 if words else 0.0
    keys = dict.fromkeys([*words, *meaning])
    return {
        key: share * words.get(key, 0.0) + (1.0 - share) * meaning.get(key, 0.0) for key in keys
    }


def combine(rankings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One score for several queries: the best one, raised by the agreement of the others, again on
    0..1.
    """
    if len(rankings) == 1:
        return dict(rankings[0])
    keys = dict.fromkeys(key for ranking in rankings for key in ranking)
    extra = 1.0 + AGREEMENT_SHARE * (len(rankings) - 1)
    result = {}
    for key in keys:
        scores = sorted((ranking.get(key, 0.0) for ranking in rankings), reverse=True)
        result[key] = (scores[0] + AGREEMENT_SHARE * sum(scores[1:])) / extra
    return result


def with_clauses(
    query_scores: Mapping[str, float], clauses: Sequence[Mapping[str, float]]
) -> dict[str, float]:
    """The scores of a whole query, raised by what the best of its clauses says, again on 0..1."""
    if not clauses:
        return dict(query_scores)
    keys = dict.fromkeys([*query_scores, *(key for clause in clauses for key in clause)])
    best = {key: max(clause.get(key, 0.0) for clause in clauses) for key in keys}
    return {
        key: (query_scores.get(key, 0.0) + CLAUSE_SHARE * best[key]) / (1.0 + CLAUSE_SHARE)
        for key in keys
    }


def with_late_interaction(score: float, query: float, name: float, described: float) -> float:
    """A fused score and the three shares of late interaction as one score, again on 0..1."""
    matched = (
        QUERY_MATCH_WEIGHT * query + NAME_MATCH_WEIGHT * name + DESCRIPTION_MATCH_WEIGHT * described
    )
    return (score + matched) / (
        1.0 + QUERY_MATCH_WEIGHT + NAME_MATCH_WEIGHT + DESCRIPTION_MATCH_WEIGHT
    )


def order_scores(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Best first, ties by id, so that the same input always gives the same order."""
    # What differs by less than a billionth is a tie; `round` to nine places would take six times
    # as long.
    rounded = sorted([(-math.floor(1e9 * score + 0.5), key) for key, score in scores.items()])
    return [(key, scores[key]) for _, key in rounded]


def coverage(weights: Mapping[str, float], present: frozenset[str]) -> float:
    """The share 0..1 of the query's information that the document's terms cover."""
    total = sum(weights.values())
    return (
        sum(weight for term, weight in weights.items() if term in present) / total if total else 0.0
    )


def similarity(cosine: float, background: float, strong: float) -> float:
    """A cosine as 0..1: nothing at the level that unrelated texts reach, full at that of a
    paraphrase.
    """
    return min(1.0, max(0.0, (cosine - background) / (strong - background)))


def relevance(covered: float, similar: float | None) -> float:
    """Absolute relevance 0..1 of a hit: meaning vouches for it, and so do shared words when they
    are most of the query.

    A few shared words prove little, hence the square; without vectors (None) they are all there
    is.
    """
    return covered if similar is None else 1.0 - (1.0 - covered**2) * (1.0 - similar)
