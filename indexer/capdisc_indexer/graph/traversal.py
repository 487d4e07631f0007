"""Edges between capabilities at query time: what a hit needs comes along, partners push each other
a little.

The type of an edge decides. A closure over `requires` took one data set from 48 to 88 points;
"used together" is worth a share of the partner's score; "similar", same category and shared tags
added nothing and are left out of the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# Late interaction leaves scores close together, so a hop may cost little: 0.97 lost half a point,
# 0.95 one.
HOP_DECAY = 0.99
MAX_HOPS = 5
SEED_HITS = 3
PARTNER_SHARE = 0.15

ResolveName = Callable[[str], Mapping[str, Any] | None]


def requirements(
    order: Sequence[Mapping[str, Any]], scores: Mapping[str, float], resolve: ResolveName
) -> dict[str, tuple[float, str]]:
    """Score and parent of everything that the first hits need, directly or through something else.

    Each hop costs a little, so that what is needed stands right behind what needs it. `resolve`
    gives the head of a name, or None; what it refuses (filtered out, not indexed) is neither
    listed nor passed through.
    """
    requirement_of_id: dict[str, tuple[float, str]] = {}
    frontier = [(header, scores[header["id"]]) for header in order[:SEED_HITS]]
    for _ in range(MAX_HOPS):
        following = []
        for parent, score in frontier:
            for name in required_names(parent):
                header = resolve(name)
                if header is None or header["id"] == parent["id"]:
                    continue
                reached_score = score * HOP_DECAY
                if reached_score > max(
                    requirement_of_id.get(header["id"], (0.0, ""))[0], scores.get(header["id"], 0.0)
                ):
                    requirement_of_id[header["id"]] = (reached_score, parent["id"])
                    following.append((header, reached_score))
        frontier = following
    return requirement_of_id


def partners(
    headers: Mapping[str, Mapping[str, Any]], scores: Mapping[str, float], resolve: ResolveName
) -> dict[str, float]:
    """What each hit gains from hits that are used together with it; computed from the scores
    before any gain.
    """
    gains: dict[str, float] = {}
    for identifier in scores:
        for name, weight in partner_weights(headers[identifier]).items():
            partner = resolve(name)
            if partner is not None and partner["id"] in scores and partner["id"] != identifier:
                for gaining, giving in ((identifier, partner["id"]), (partner["id"], identifier)):
                    gains[gaining] = max(
                        gains.get(gaining, 0.0), PARTNER_SHARE * weight * scores[giving]
                    )
    return gains


def partner_weights(header: Mapping[str, Any]) -> dict[str, float]:
    """The names that a capability is used together with, by its list and by its typed edges, which
    have weights; a table is used with those that its keys lead to.
    """
    weights = dict.fromkeys(header.get("composed_with", ()), 1.0)
    if not (edges := header.get("edges", ())):
        return weights
    partner_edges = [
        edge for edge in edges if edge["kind"].upper() in ("COMPOSED_WITH", "REFERS_TO")
    ]
    return {edge["target"]: edge["weight"] for edge in partner_edges} | weights


def required_names(header: Mapping[str, Any]) -> list[str]:
    """The names that a capability requires, by its list and by its typed edges."""
    edges = [
        edge["target"]
        for edge in header.get("edges", ())
        if edge["kind"].upper() in ("REQUIRES", "DEPENDS_ON")
    ]
    return list(dict.fromkeys([*header.get("requires", ()), *edges]))
