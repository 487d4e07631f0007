"""The edges that nobody wrote: shared tags, and small groups of one kind in one category."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from capdisc_indexer.records import UNCATEGORISED
from capdisc_indexer.relations.declared import relation
from capdisc_indexer.relations.values import Relation

PER_TAG, LEAST_TAGS = 0.3, 2
# A tag on more capabilities than this, or on more than a quarter of them, tells nothing about a pair, and makes n²/2
# of them.
COMMON, COMMON_SHARE, FEW = 50, 0.25, 8
SAME_CATEGORY, GROUP = 0.1, range(2, 9)


def tagged(heads: Sequence[Mapping[str, Any]]) -> tuple[list[Relation], list[str]]:
    """An edge of 0.3 a shared tag, 1 at most, for each pair that shares two or more; and the tags that were too common
    to count."""
    holders = _grouped((tag.lower(), head["id"]) for head in heads for tag in head.get("tags", ()))
    limit = min(COMMON, max(FEW, int(COMMON_SHARE * len(heads))))
    ignored = sorted(tag for tag, ids in holders.items() if len(ids) > limit)
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tag in sorted(set(holders) - set(ignored)):
        for pair in combinations(holders[tag], 2):
            shared[pair].append(tag)
    found = [
        relation("TAGGED_WITH", one, two, min(1.0, PER_TAG * len(tags)), f"tags {', '.join(tags)}")
        for (one, two), tags in shared.items()
        if len(tags) >= LEAST_TAGS
    ]
    return found, [f"tag {tag} ({len(holders[tag])})" for tag in ignored]


def neighbours(heads: Sequence[Mapping[str, Any]]) -> tuple[list[Relation], list[str]]:
    """An edge of 0.1 for each pair of one kind and category, in groups of two to eight; and the groups that were too
    large. What has no category of its own is in none."""
    groups = _grouped(
        ((head["kind"], head["category"]), head["id"])
        for head in heads
        if head.get("category") and head["category"] != UNCATEGORISED
    )
    found = [
        relation("SAME_CATEGORY", one, two, SAME_CATEGORY, f"category {category}")
        for (_, category), ids in sorted(groups.items())
        if len(ids) in GROUP
        for one, two in combinations(ids, 2)
    ]
    large = [f"category {key[1]} of kind {key[0]} ({len(ids)})" for key, ids in sorted(groups.items()) if len(ids) > 8]
    return found, large


def _grouped(pairs: Iterable[tuple[Any, str]]) -> dict[Any, list[str]]:
    """The ids by key, each once and in order."""
    groups: dict[Any, set[str]] = defaultdict(set)
    for key, identifier in pairs:
        groups[key].add(identifier)
    return {key: sorted(ids) for key, ids in groups.items()}
