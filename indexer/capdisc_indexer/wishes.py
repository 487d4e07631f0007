"""One text of a query as scores: the whole text, raised by what its clauses say by themselves."""

from __future__ import annotations

from dataclasses import dataclass

from capdisc_indexer import ranking
from capdisc_indexer.candidates import Candidates, candidates
from capdisc_indexer.clauses import clauses
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.index import Index
from capdisc_indexer.types import Query


@dataclass(frozen=True, slots=True)
class Wish:
    """Scores 0..1 by id, and what was looked up for them: the whole text first, then its clauses."""

    scores: dict[str, float]
    found: tuple[Candidates, ...]


def wish(index: Index, text: str, query: Query, encoder: Encoder | None, mode: str) -> Wish:
    """The scores of everything that the text, or a clause of it, may mean."""
    found = tuple(candidates(index, part, query, encoder, mode) for part in (text, *clauses(text)))
    whole, *parts = (ranking.fuse(each.lexical, each.vector, each.known) for each in found)
    return Wish(ranking.with_clauses(whole, parts), found)
