"""Capabilities for a wish in words, and those of one kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.discover import discover
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.held import described
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Descriptor, Hit, Query, Ranking

Head = Mapping[str, Any]
# How many are looked at where hits are chosen by something that the index does not filter by.
WIDE = 200
WORTH_SHOWING = 0.05


@frozen(kw_only=True)
class Found:
    """A ranking with the heads of its hits."""

    ranking: Ranking
    heads: Mapping[str, Head]

    @property
    def pairs(self) -> list[tuple[Hit, Head]]:
        """The hits, best first, each with its head."""
        return [(hit, self.heads[hit.id]) for hit in self.ranking.hits]


def find(
    desk: Desk, words: str, limit: int, kinds: Sequence[str] = (), category: str = "", mode: str | None = None
) -> Found:
    """What fits the words, best first. Raises UsageError for a kind or category that nothing here has."""
    check(desk, kinds, category)
    chosen = mode or desk.mode
    encoder = None if chosen == "lexical" else desk.encoder()
    query = Query(texts=(words,), kinds=tuple(kinds), categories=(category,) if category else (), limit=limit)
    ranking = discover(desk.index, query, encoder, chosen, desk.available)
    # Hits of no relevance hold the place of an answer, and are none.
    hits = tuple(hit for hit in ranking.hits if hit.relevance >= WORTH_SHOWING or hit.via)
    heads = desk.index.documents.passing([hit.id for hit in hits], Query(texts=()))
    return Found(ranking=replace(ranking, hits=hits), heads=heads)


def chosen(found: Found, limit: int, wanted: Callable[[Descriptor], bool], desk: Desk) -> list[tuple[Hit, Descriptor]]:
    """The first hits that are wanted, each in full."""
    whole = ((hit, desk.index.whole(dict(head))) for hit, head in found.pairs)
    kept = [(hit, descriptor) for hit, descriptor in whole if wanted(descriptor)]
    return kept[:limit]


def check(desk: Desk, kinds: Sequence[str], category: str) -> None:
    """Raises UsageError for a kind or category that nothing here has."""
    facts = desk.index.meta("overview")
    for kind in kinds:
        if len(kinds) == 1 and kind not in facts["kinds"]:
            raise UsageError(f"nothing here is of the kind {one_line(kind, 40)!r}", f"here: {_listed(facts['kinds'])}")
    known = {each["category"].lower() for each in facts["categories"]}
    if category and category.lower() not in known:
        raise UsageError(f"nothing here has the category {one_line(category, 40)!r}", f"here: {_listed(known)}")


def _listed(names: Sequence[str] | set[str] | Mapping[str, Any]) -> str:
    every = sorted(one_line(name, 40) for name in names)
    return ", ".join(every[:20]) + (f" and {len(every) - 20} more" if len(every) > 20 else "") or "nothing yet"


def of_kinds(desk: Desk, *kinds: str) -> Iterator[dict[str, Any]]:
    """The heads of all capabilities of these kinds that are not hidden, by id."""
    every = desk.index.documents.everything(Query(texts=(), kinds=kinds))
    return (head for head in every if not head.get("hidden"))


def row(desk: Desk, hit: Hit, head: Head) -> dict[str, Any]:
    """A hit as most answers show it; relevance has two digits."""
    return {
        "id": head["id"],
        "name": head["name"],
        "kind": head["kind"],
        "description": described(head),
        "category": head.get("category") or UNCATEGORISED,
        "relevance": round(hit.relevance, 2),
        "available": desk.available(head),
    }
