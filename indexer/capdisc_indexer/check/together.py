"""Rules that need more than one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from capdisc_indexer.check.collisions import collisions
from capdisc_indexer.check.floods import floods
from capdisc_indexer.check.guidance import orphans
from capdisc_indexer.check.lookalikes import lookalikes
from capdisc_indexer.check.members import Member
from capdisc_indexer.check.needs import needs_met
from capdisc_indexer.types import Finding


def together(members: Sequence[Member], roots: Iterable[str]) -> Iterator[Finding]:
    """What is wrong with these capabilities as a collection, given in the order of the scan of these roots."""
    yield from collisions(members)
    yield from lookalikes(members)
    yield from floods(members)
    yield from needs_met(members)
    categories = {member.category for member in members}
    for root in sorted(set(roots)):
        yield from orphans(root, categories)
