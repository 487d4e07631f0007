"""Many capabilities of one root that say nearly the same, so that they would fill every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.types import Finding, Severity

FLOOD = 20


def floods(members: Sequence[Member]) -> Iterator[Finding]:
    """One finding for each group of near copies, at its first member."""
    sizes = Counter(map(_group, members))
    reported: set[tuple[int, bytes]] = set()
    for member in members:
        group = _group(member)
        if member.description_digest and sizes[group] >= FLOOD and group not in reported:
            reported.add(group)
            message = f"one of {sizes[group]} capabilities that say nearly the same"
            yield at(member, "near-duplicate-flood", Severity.WARNING, message, "keep one, and give it phrases")


def _group(member: Member) -> tuple[int, bytes]:
    return member.root_order, member.description_digest
