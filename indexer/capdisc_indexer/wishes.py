"""One text of a query as scores: the whole text, raised by its clauses, then the first candidates read more closely."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer import ranking
from capdisc_indexer.candidates import Candidates, candidates
from capdisc_indexer.clauses import clauses
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.encoders.static import StaticEncoder
from capdisc_indexer.frozen import field, frozen
from capdisc_indexer.index import Index
from capdisc_indexer.interaction import Met, meet
from capdisc_indexer.types import Query

# How many candidates are read closely: what stands further down does not come up among the first ten. On eight data
# sets 35 gave what 60 give, in three quarters of the time.
READ_CLOSELY = 40


@frozen
class Wish:
    """Scores 0..1 by id, and what they come from: the look-ups (the whole text first, then its clauses), and how the
    first candidates and the text meet."""

    scores: dict[str, float]
    found: tuple[Candidates, ...]
    met: Mapping[str, Met] = field(default_factory=dict)


def wish(
    index: Index, text: str, query: Query, encoder: Encoder | None, reader: StaticEncoder | None, mode: str
) -> Wish:
    """The scores of everything that the text, or a clause of it, may mean; without a reader nothing is read closely."""
    found = tuple(candidates(index, part, query, encoder, mode) for part in (text, *clauses(text)))
    whole, *parts = (ranking.fuse(each.lexical, each.vector, each.known) for each in found)
    scores = ranking.with_clauses(whole, parts)
    if reader is None:
        return Wish(scores, found)
    first = [key for key, _ in ranking.ordered(scores)[:READ_CLOSELY]]
    met, unmet = meet(reader, text, index.documents.pieces(first)), Met()
    return Wish({key: _closer(score, met.get(key, unmet)) for key, score in scores.items()}, found, met)


def _closer(score: float, met: Met) -> float:
    return ranking.with_meeting(score, met.query, met.name, met.described)
