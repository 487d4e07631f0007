"""Edges between capabilities at query time: what a hit needs comes along, partners push each other
a little.

The type of an edge decides. A closure over `requires` took one data set from 48 to 88 points;
"used together" is worth a share of the partner's score; "similar", same category and shared tags
added nothing and are left out of the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader, SkillRequirement

# Edges between capabilities of the index, and what of them one looks at.

# These mean the same read from either end; every other kind leads from its source to its target.
UNDIRECTED = frozenset({"COMPOSED_WITH", "RELATED", "TAGGED_WITH", "SAME_CATEGORY"})


@frozen(kw_only=True)
class Relation:
    """One edge between two ids of the index; `weight` is 0..1, `why` what it was derived from. The
    ends of an undirected one are in order.
    """

    kind: str
    source: str
    target: str
    weight: float
    why: str = ""

    @property
    def directed(self) -> bool:
        """Whether its direction says something."""
        return self.kind not in UNDIRECTED


@frozen(kw_only=True)
class UnresolvedRelation:
    """An edge that leads to nothing in the index; `target` is as written."""

    kind: str
    source: str
    target: str
    why: str


@frozen(kw_only=True)
class CapabilityGraph:
    """The edges between capabilities, all kinds of a pair, strongest first. `depths` are the ids
    of the picture and how far each is from where one began; `left_out` counts what a limit kept
    away; `ignored` are tags and categories that too many share.
    """

    depths: Mapping[str, int]
    relations: tuple[Relation, ...]
    unresolved: tuple[UnresolvedRelation, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


# Late interaction leaves scores close together, so a hop may cost little: 0.97 lost half a point,
# 0.95 one.
HOP_DECAY = 0.99
MAX_HOPS = 5
SEED_HITS = 3
PARTNER_SHARE = 0.15

ResolveName = Callable[[str], CapabilityHeader | None]


def requirements(
    order: Sequence[CapabilityHeader], scores: Mapping[str, float], resolve: ResolveName
) -> dict[str, tuple[float, str]]:
    """Score and parent of everything that the first hits need, directly or through something else.

    Each hop costs a little, so that what is needed stands right behind what needs it; what may be
    needed stands behind that. `resolve`
    gives the head of a name, or None; what it refuses (filtered out, not indexed) is neither
    listed nor passed through.
    """
    requirement_of_id: dict[str, tuple[float, str]] = {}
    frontier = [(header, scores[header["id"]]) for header in order[:SEED_HITS]]
    for _ in range(MAX_HOPS):
        following = []
        for parent, score in frontier:
            for name, weight in required_names(parent).items():
                header = resolve(name)
                if header is None or header["id"] == parent["id"]:
                    continue
                reached_score = score * HOP_DECAY * weight
                if reached_score > max(
                    requirement_of_id.get(header["id"], (0.0, ""))[0], scores.get(header["id"], 0.0)
                ):
                    requirement_of_id[header["id"]] = (reached_score, parent["id"])
                    following.append((header, reached_score))
        frontier = following
    return requirement_of_id


def partners(
    headers: Mapping[str, CapabilityHeader], scores: Mapping[str, float], resolve: ResolveName
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


def partner_weights(header: CapabilityHeader) -> dict[str, float]:
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


def required_names(header: CapabilityHeader) -> dict[str, float]:
    """The names that a capability requires, each with the weight of the strongest edge to it.

    What the graph shows as REQUIRES is what a search brings along: both read `find_references`.
    """
    weights: dict[str, float] = {}
    for kind, name, weight, _ in find_references(header):
        if kind == "REQUIRES":
            weights[name] = max(weight, weights.get(name, 0.0))
    return weights


# The edges that authors declare: lists of names, typed edges, tools that a skill may use.

COMPOSED_WEIGHT, RELATED_WEIGHT = 0.5, 0.5
# A tool that a skill is allowed to use is one that it may need.
ALLOWED_TOOL_WEIGHT = 0.5
_MAX_NAMES = 256


def find_declared_relations(
    headers: Sequence[CapabilityHeader], resolve: ResolveName
) -> tuple[list[Relation], list[UnresolvedRelation]]:
    """The edges of all heads between ids of the index, and those that lead nowhere."""
    relations: list[Relation] = []
    unresolved: list[UnresolvedRelation] = []
    for header in headers:
        for kind, name, weight, why in find_references(header):
            target = resolve(name)
            if target is None:
                unresolved.append(
                    UnresolvedRelation(kind=kind, source=header["id"], target=name, why=why)
                )
            elif target["id"] != header["id"]:
                relations.append(make_relation(kind, header["id"], target["id"], weight, why))
    return relations, unresolved


def make_relation(kind: str, source: str, target: str, weight: float, why: str) -> Relation:
    """The edge, the ends of an undirected one in order."""
    if kind in UNDIRECTED and target < source:
        source, target = target, source
    return Relation(kind=kind, source=source, target=target, weight=round(weight, 4), why=why)


def find_references(header: CapabilityHeader) -> Iterator[tuple[str, str, float, str]]:
    """Kind, name, weight and origin of everything that a capability points to."""
    declared_names = (
        ("REQUIRES", "requires", 1.0, header.get("requires", ())),
        ("COMPOSED_WITH", "composed_with", COMPOSED_WEIGHT, header.get("composed_with", ())),
        ("RELATED", "related", RELATED_WEIGHT, header.get("related", ())),
    )
    for kind, key, weight, names in declared_names:
        yield from ((kind, name, weight, key) for name in names)
    for edge in header.get("edges", ()):
        kind = "REQUIRES" if edge["kind"].upper() == "DEPENDS_ON" else edge["kind"].upper()
        yield kind, edge["target"], float(edge["weight"]), "edges"
    for need in header.get("skill_requirements", ()):
        yield "REQUIRES", need["target"], need["weight"], need["why"]


def find_skill_requirements(extra: Mapping[str, Any]) -> list[SkillRequirement]:
    """What the frontmatter of a skill says that it needs: `dependencies`, and at half the weight
    the tools that it is allowed to use.
    """
    metadata = extra.get("metadata")
    nested = metadata.get("dependencies") if isinstance(metadata, Mapping) else None
    dependencies = [*_parse_names(extra.get("dependencies")), *_parse_names(nested)]
    # `Bash(git:*)` allows some uses of the tool that stands before the bracket.
    tools = [
        tool.partition("(")[0].strip() or tool for tool in _parse_names(extra.get("allowed-tools"))
    ]
    return [
        *(SkillRequirement(target=name, weight=1.0, why="dependencies") for name in dependencies),
        *(
            SkillRequirement(target=name, weight=ALLOWED_TOOL_WEIGHT, why="allowed-tools")
            for name in tools
        ),
    ]


def _parse_names(value: Any) -> list[str]:
    """The names in a list, or in a text with commas."""
    items = (
        value.split(",")
        if isinstance(value, str)
        else value
        if isinstance(value, (list, tuple))
        else ()
    )
    names = (item.strip() for item in items[:_MAX_NAMES] if isinstance(item, str))
    return list(dict.fromkeys(name for name in names if name))
