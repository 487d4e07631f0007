"""Many capabilities of one root that say nearly the same, so that they would fill every answer."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.text import STOP_WORDS, simple_words
from capdisc_indexer.types import Finding, Severity

FLOOD = 20
_MARKS = 6  # of the smallest hashes of a description's words; near copies share them all
# Fewer telling words with another number each ("Opens valve 12") are the members of a family, and no copies.
_TELLING = 5


def floods(members: Sequence[Member]) -> Iterator[Finding]:
    """One finding for each group of near copies, at its first member."""
    groups: dict[tuple[int, str], list[Member]] = defaultdict(list)
    for each in members:
        words = sorted({word.lower() for word in simple_words(each.one.description) if not any(map(str.isdigit, word))})
        if sum(word not in STOP_WORDS for word in words) < _TELLING:
            continue
        marks = sorted(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)[:_MARKS]
        groups[each.root_order, b"".join(marks).hex()].append(each)
    for group in groups.values():
        if len(group) >= FLOOD:
            message = f"one of {len(group)} capabilities that say nearly the same"
            yield at(group[0], "near-duplicate-flood", Severity.WARNING, message, "keep one, and give it phrases")
