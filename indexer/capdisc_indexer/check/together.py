"""Rules that need more than one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capdisc_indexer.check.collisions import collisions
from capdisc_indexer.check.floods import floods
from capdisc_indexer.check.guidance import orphans
from capdisc_indexer.check.lookalikes import lookalikes
from capdisc_indexer.check.members import Member
from capdisc_indexer.check.needs import needs_met
from capdisc_indexer.sources.files import FoundFile, printable
from capdisc_indexer.types import Finding, Loaded


def together(loaded: Sequence[tuple[FoundFile, Loaded]]) -> Iterator[Finding]:
    """What is wrong with the capabilities of these files as a collection, the files in the order of their scan."""
    members = [
        Member(one=part.descriptor, part=part, path=printable(file.path), root_order=file.root_order)
        for file, each in loaded
        for part in each.parts
        if part.descriptor
    ]
    yield from collisions(members)
    yield from lookalikes(members)
    yield from floods(members)
    yield from needs_met(members)
    for root in sorted({file.root for file, _ in loaded}):
        yield from orphans(root, {member.one.category for member in members})
