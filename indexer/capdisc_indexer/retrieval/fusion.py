"""The pure steps of ranking: scores 0..1 by id go in and come out, nothing is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader

# Several phrasings of one request: the best one counts fully, agreement of the others adds a
# little.
AGREEMENT_SHARE = 0.25
# What stands out for a clause is measured from the score at this rank.
COVER_RANK = 5
# The factor on the score of a stuffed description: one that says three words twelve times matches
# a query for them better, by a third, than an honest one. Less than nothing is gained by it.
STUFFING_PENALTY = 0.6
# The factor on the score of a capability whose author says that it is not available: any other one
# that comes within half of it is of more use. Relevance stays as it is, so that it is still found.
UNAVAILABLE_FACTOR = 0.5
# What a capability of the workspace gains over those of the home folder and of plug-ins. Of 40
# requests for 20 short skills of a project beside 2,041 others, 25 have theirs first (17 without,
# 22 with 0.1, 25 with 0.2); of 100 requests for the others none more is lost
# (tools/bench/own_skills.py).
OWN_GAIN = 0.15


@frozen
class Weights:
    """The weight of each kind of evidence: for a short request (`REQUEST`), and for the long
    description of a task (`TASK`).

    A request ("merge two PDF files") says in a few words what is wanted, and descriptions say what
    they are for in the same few words. A task prompt is 50 to 200 words of context, file names and
    conditions, of which the description of the right skill has almost none; its body uses many of
    them again and again. Measured on 320 such prompts, written for 1,345 public skills with bodies
    of 9,000 characters: nDCG@10 44.5 with the weights of a request, 66.0 with those of a task
    (words alone: 51.4 and 63.1).

    `lexical`: the share of BM25 in a fused score when the catalogue knows every word. The share
    shrinks with the part that it knows: that gained 0.5 points on eight data sets against a fixed
    0.5, and 2 where people ask without the author's words. Reciprocal rank fusion lost 2.5.

    `topics`: BM25 over the words that a body uses most, in addition to BM25 over all texts. For
    requests of a few words it lost 4 points.

    `clause`: what the best clause of a text adds to the score of the whole. The first ten hits
    held all that a query needs 2 points more often, 7 on the data set with the most clauses; 0.3
    to 0.5 give the same. Clauses in place of the whole text lost 4 points. The clauses of a task
    are its conditions: they lost 5.

    `cover`: what a hit gains that stands out as the answer to a clause: this share of how far it
    lies above the fifth best for that clause. Measured on eleven data sets: 0.4 to 0.6 and the
    third to the tenth give the same within 0.2 points.

    `labels`: the share of their weight that the signals of name and description have.

    `body`: what the whole body with the best evidence gains among the first candidates
    (`siblings`). 0.5 to 0.7 give the same; after `topics` it lost 2 points.
    """

    lexical: float = 0.6
    topics: float = 0.0
    clause: float = 0.4
    cover: float = 0.5
    labels: float = 1.0
    body: float = 0.5


REQUEST = Weights()
TASK = Weights(lexical=0.84, topics=4.0, clause=0.08, cover=0.1, labels=0.0, body=0.0)


def scale_by_maximum(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the largest one."""
    top = max(scores.values(), default=0.0)
    return {key: value / top for key, value in scores.items()} if top > 0 else {}


def scale_by_range(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores stretched so that the smallest becomes 0 and the largest 1.

    A single score becomes 1.
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {
        key: (value - low) / (high - low) if high > low else 1.0 for key, value in scores.items()
    }


def fuse_channels(
    lexical: Mapping[str, float],
    vector: Mapping[str, float],
    lexical_share: float = REQUEST.lexical,
) -> dict[str, float]:
    """The convex combination of BM25 (divided by its maximum) and cosine (stretched over its
    range). What one channel lacks counts 0 there.
    """
    words, meaning = scale_by_maximum(lexical), scale_by_range(vector)
    if not words or not meaning:
        lexical_share = 1.0 if words else 0.0
    return {
        key: lexical_share * words.get(key, 0.0) + (1.0 - lexical_share) * meaning.get(key, 0.0)
        for key in dict.fromkeys([*words, *meaning])
    }


def add_clauses(
    text_scores: Mapping[str, float], clauses: Sequence[Mapping[str, float]], share: float
) -> dict[str, float]:
    """The scores of a whole text and this share of those of its best clause, again on 0..1."""
    if not clauses:
        return dict(text_scores)
    keys = dict.fromkeys([*text_scores, *(key for clause in clauses for key in clause)])
    best = {key: max(clause.get(key, 0.0) for clause in clauses) for key in keys}
    return {key: (text_scores.get(key, 0.0) + share * best[key]) / (1.0 + share) for key in keys}


def cover_clauses(
    text_scores: Mapping[str, float],
    clause_scores: Sequence[Mapping[str, float]],
    first_ids: Sequence[str],
    share: float = REQUEST.cover,
) -> dict[str, float]:
    """The scores of a whole text; those of the first hits raised by this share of how far they
    answer clauses that no better hit has answered.

    This is a greedy cover: the hit with the best sum comes first, and with it the clauses that it
    answers count as answered as far as it does. So a request of several wishes gets the answer to
    each before the siblings of one answer.
    """
    lead_of_id: dict[str, list[float]] = {key: [] for key in first_ids}
    for scores in clause_scores:
        values = [scores.get(key, 0.0) for key in first_ids]
        level = sorted(values, reverse=True)[min(COVER_RANK, len(values)) - 1] if values else 0.0
        for key, value in zip(first_ids, values, strict=True):
            lead_of_id[key].append(max(0.0, value - level))
    covered = dict(text_scores)
    answered = [0.0] * len(clause_scores)
    queue = [
        (-_raise_score(text_scores[key], lead_of_id[key], share), rank, key)
        for rank, key in enumerate(first_ids)
    ]
    heapify(queue)
    while queue:
        # A sum can only fall while clauses get answered: what leads the queue with its sum as it
        # is now is the best one.
        before, rank, key = heappop(queue)
        open_leads = [
            max(0.0, lead - level) for lead, level in zip(lead_of_id[key], answered, strict=True)
        ]
        score = _raise_score(text_scores[key], open_leads, share)
        if queue and (-score, rank) > queue[0][:2] and -score > before:
            heappush(queue, (-score, rank, key))
            continue
        covered[key] = score
        answered = list(map(max, answered, lead_of_id[key]))
    return covered


def _raise_score(score: float, leads: Iterable[float], share: float) -> float:
    """The score and this share of the length of the leads, 1 at most."""
    squares = 0.0
    for lead in leads:
        squares += lead * lead
    return min(1.0, score + share * math.sqrt(squares))


def combine_texts(rankings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """One score for several texts: the best one, raised by the agreement of the others, again on
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


def penalize_keyword_stuffing(
    scores: Mapping[str, float], headers: Mapping[str, CapabilityHeader]
) -> dict[str, float]:
    """The scores of the capabilities that have a header, those of stuffed descriptions lowered."""
    return {
        key: scores[key]
        * (STUFFING_PENALTY if "keyword-stuffing" in header.get("warnings", ()) else 1.0)
        for key, header in headers.items()
    }


def lower_unavailable(
    scores: Mapping[str, float], headers: Mapping[str, CapabilityHeader]
) -> dict[str, float]:
    """The scores, those of capabilities that declare `available: false` lowered."""
    return {
        key: score * (1.0 if headers[key].get("available", True) else UNAVAILABLE_FACTOR)
        for key, score in scores.items()
    }


def raise_own(
    scores: Mapping[str, float], headers: Mapping[str, CapabilityHeader], workspace: str
) -> dict[str, float]:
    """The scores, those of capabilities whose file lies in the workspace raised by OWN_GAIN where
    there are others, too; all divided by the best one where that is above 1.
    """
    folder = f"{workspace.rstrip('/')}/"
    own = {key for key in scores if headers[key]["source"]["path"].startswith(folder)}
    if len(own) == len(scores):
        return dict(scores)
    raised = {key: score + OWN_GAIN * (key in own) for key, score in scores.items()}
    best = max(1.0, *raised.values())
    return {key: score / best for key, score in raised.items()}


def raise_used(scores: Mapping[str, float], gains: Mapping[str, float]) -> dict[str, float]:
    """The scores, those of capabilities that were used raised by their gain, a share of the score,
    so that use raises nothing that does not fit.
    """
    return {key: min(1.0, score * (1.0 + gains.get(key, 0.0))) for key, score in scores.items()}


def order_scores(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Best first, ties by id, so that the same input always gives the same order."""
    # A difference below a billionth is a tie; `round` to nine places would take six times as long.
    rounded = sorted([(-math.floor(1e9 * score + 0.5), key) for key, score in scores.items()])
    return [(key, scores[key]) for _, key in rounded]


def coverage(weights: Mapping[str, float], present: frozenset[str]) -> float:
    """The share 0..1 of the query's information (`weights`: IDF by term) in the present terms."""
    total = sum(weights.values())
    return (
        sum(weight for term, weight in weights.items() if term in present) / total
        if total
        else 0.0
    )


def similarity(cosine: float, noise_floor: float, full_match: float) -> float:
    """A cosine as 0..1: 0 at the level of unrelated texts (`noise_floor`), 1 at that of a
    paraphrase (`full_match`).
    """
    return min(1.0, max(0.0, (cosine - noise_floor) / (full_match - noise_floor)))


def relevance(covered_share: float, similarity_share: float | None) -> float:
    """The absolute relevance 0..1 of a hit: high when the meaning is similar, or when the hit
    shares most words of the query.

    A few shared words prove little, hence the square. Without vectors (`similarity_share` is None)
    the coverage alone decides.
    """
    if similarity_share is None:
        return covered_share
    return 1.0 - (1.0 - covered_share**2) * (1.0 - similarity_share)
