"""Edges between capabilities at query time: what a hit needs comes along, partners push each other a little.

The type of an edge decides. A closure over `requires` took one data set from 48 to 88 points; "used together" is worth
a share of the partner's score; "similar", same category and shared tags added nothing and are left out of the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Late interaction leaves scores close together, so a hop may cost little: 0.97 lost half a point, 0.95 one.
HOP_DECAY = 0.99
MAX_HOPS = 5
SEEDS = 3
PARTNER_SHARE = 0.15

Resolve = Callable[[str], Mapping[str, Any] | None]


def requirements(
    order: Sequence[Mapping[str, Any]], scores: Mapping[str, float], resolve: Resolve
) -> dict[str, tuple[float, str]]:
    """Score and parent of everything that the first hits need, directly or through something else.

    Each hop costs a little, so that what is needed stands right behind what needs it. `resolve` gives the head of a
    name, or None; what it refuses (filtered out, not indexed) is neither listed nor passed through.
    """
    found: dict[str, tuple[float, str]] = {}
    frontier = [(head, scores[head["id"]]) for head in order[:SEEDS]]
    for _ in range(MAX_HOPS):
        following = []
        for parent, score in frontier:
            for name in needs(parent):
                head = resolve(name)
                if head is None or head["id"] == parent["id"]:
                    continue
                reached = score * HOP_DECAY
                if reached > max(found.get(head["id"], (0.0, ""))[0], scores.get(head["id"], 0.0)):
                    found[head["id"]] = (reached, parent["id"])
                    following.append((head, reached))
        frontier = following
    return found


def partners(heads: Mapping[str, Mapping[str, Any]], scores: Mapping[str, float], resolve: Resolve) -> dict[str, float]:
    """What each hit gains from hits that are used together with it; computed from the scores before any gain."""
    gains: dict[str, float] = {}
    for identifier in scores:
        for name, weight in used_with(heads[identifier]).items():
            other = resolve(name)
            if other is not None and other["id"] in scores and other["id"] != identifier:
                for one, two in ((identifier, other["id"]), (other["id"], identifier)):
                    gains[one] = max(gains.get(one, 0.0), PARTNER_SHARE * weight * scores[two])
    return gains


def used_with(head: Mapping[str, Any]) -> dict[str, float]:
    """The names that a capability is used together with, by its list and by its typed edges, which have weights; a
    table is used with those that its keys lead to."""
    named = dict.fromkeys(head.get("composed_with", ()), 1.0)
    if not (edges := head.get("edges", ())):
        return named
    joined = [edge for edge in edges if edge["kind"].upper() in ("COMPOSED_WITH", "REFERS_TO")]
    return {edge["target"]: edge["weight"] for edge in joined} | named


def needs(head: Mapping[str, Any]) -> list[str]:
    """The names that a capability requires, by its list and by its typed edges."""
    edges = [edge["target"] for edge in head.get("edges", ()) if edge["kind"].upper() in ("REQUIRES", "DEPENDS_ON")]
    return list(dict.fromkeys([*head.get("requires", ()), *edges]))
