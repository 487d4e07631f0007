"""One text of a query as scores: the whole text, raised by its clauses, then the first candidates
read more closely.
"""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.static_encoder import StaticEncoder
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.candidates import Candidates, find_candidates
from capdisc_indexer.retrieval.late_interaction import MaxSimScores, max_sim
from capdisc_indexer.retrieval.query_analysis import content_clauses
from capdisc_indexer.store.snapshot import Index

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
