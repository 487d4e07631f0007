"""The relations between capabilities as values: those that authors declare, and the three that a
query follows, since what a hit requires and what gives it its parameters come along, and partners
raise each other's score a little.

`capdisc graph` shows every kind of edge with its weight, declared and derived. Ranking uses only
the edges that proved useful: `requirements`, a closure over `requires`, took one data set from 48
to 88 points; `producers`, what gives a hit its parameters, took another from 52 to 70; of
`partners`, "used together" is worth a share of the partner's score, and "related" half of that
between tools of which only one names the other (0.8 points). Same category and shared tags added
nothing and are left out of ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader, SkillRequirement
from capdisc_indexer.model.types import Presets, ProducerEdge
from capdisc_indexer.store.text_queries import alias_key

# These relations mean the same from either end; all others lead from their source to their target.
UNDIRECTED = frozenset({"COMPOSED_WITH", "RELATED", "TAGGED_WITH", "SAME_CATEGORY"})


@frozen(kw_only=True)
class Relation:
    """One edge between two ids of the index; `weight` is 0..1, `why` says what it was derived
    from. The ends of an undirected edge are sorted.
    """

    kind: str
    source: str
    target: str
    weight: float
    why: str = ""

    @property
    def directed(self) -> bool:
        """Whether the edge leads from its source to its target, and not both ways."""
        return self.kind not in UNDIRECTED


@frozen(kw_only=True)
class UnresolvedRelation:
    """An edge to a name that no capability of the index has; `target` is as written."""

    kind: str
    source: str
    target: str
    why: str


@frozen(kw_only=True)
class CapabilityGraph:
    """Capabilities and the edges between them, strongest first; a pair may have several kinds.

    `depths` are the ids with the number of steps from the start, `left_out` counts what a limit
    removed, by what it is, `ignored` are tags and categories that too many capabilities share.
    """

    depths: Mapping[str, int]
    relations: tuple[Relation, ...]
    unresolved: tuple[UnresolvedRelation, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


# Late interaction leaves scores close together, so a hop must cost little: 0.97 lost half a point,
# 0.95 a whole one.
HOP_DECAY = 0.99
MAX_HOPS = 5
SEED_HITS = 3
# What gives a first hit its parameters stands behind it: one hop for the tool, one for what that
# tool needs in turn. With 0.9 to 0.98 every one of eleven data sets gains or stays.
PRODUCER_DECAY = 0.95
PRODUCER_HOPS = 2
PARTNER_SHARE = 0.15
COMPOSED_WEIGHT, RELATED_WEIGHT = 0.5, 0.5
# What people read, whose `related` means "see also".
_KINDS_OF_TEXT = frozenset({"skill", "document", "term"})

# From a name as an author wrote it to the header of the capability; None where there is none.
ResolveName: TypeAlias = Callable[[str], CapabilityHeader | None]
# From an id to what gives that capability its parameters.
FindProducers: TypeAlias = Callable[[str], Sequence[ProducerEdge]]
# By id, the score of a capability that a hit brings along, and the id of that hit.
Companions: TypeAlias = dict[str, tuple[float, str]]


def requirements(
    order: Sequence[CapabilityHeader], scores: Mapping[str, float], resolve: ResolveName
) -> Companions:
    """The score and the parent of everything that the first hits require, directly or indirectly,
    by id.

    Each hop costs a little, so that a requirement stands right behind what requires it. What
    `resolve` refuses (filtered out, not indexed) is neither listed nor passed through.
    """
    requirement_of_id: Companions = {}
    frontier = [(header, scores[header["id"]]) for header in order[:SEED_HITS]]
    for _ in range(MAX_HOPS):
        next_frontier = []
        for parent, score in frontier:
            for name, weight in required_names(parent).items():
                header = resolve(name)
                if header is None or header["id"] == parent["id"]:
                    continue
                reached_score = score * HOP_DECAY * weight
                if reached_score > max(
                    requirement_of_id.get(header["id"], (0.0, ""))[0],
                    scores.get(header["id"], 0.0),
                ):
                    requirement_of_id[header["id"]] = (reached_score, parent["id"])
                    next_frontier.append((header, reached_score))
        frontier = next_frontier
    return requirement_of_id


def producers(
    order: Sequence[CapabilityHeader],
    scores: Mapping[str, float],
    find_producers: FindProducers,
    resolve: ResolveName,
) -> Companions:
    """The score and the consumer of everything that gives the first hits what they need, by id.

    Nothing is lowered: a producer that the request itself found higher up keeps its place.
    """
    producer_of_id: Companions = {}
    frontier = [(header["id"], scores[header["id"]]) for header in order[:SEED_HITS]]
    for _ in range(PRODUCER_HOPS):
        next_frontier = []
        for consumer, score in frontier:
            for edge in find_producers(consumer):
                reached_score = score * PRODUCER_DECAY * edge.weight
                known_score = max(
                    producer_of_id.get(edge.producer, (0.0, ""))[0],
                    scores.get(edge.producer, 0.0),
                )
                if reached_score > known_score and resolve(edge.producer) is not None:
                    producer_of_id[edge.producer] = (reached_score, consumer)
                    next_frontier.append((edge.producer, reached_score))
        frontier = next_frontier
    return producer_of_id


def partners(
    headers: Mapping[str, CapabilityHeader],
    scores: Mapping[str, float],
    resolve: ResolveName,
    share: float = PARTNER_SHARE,
    presets: Presets = MappingProxyType({}),
) -> dict[str, float]:
    """What each hit gains from hits that are used together with it, by id: this `share` of their
    scores, which are those before any gain. Members of one of the `presets` are used together.
    """
    if not share:
        return {}
    weights_of_id = {
        identifier: weights
        for identifier in scores
        if (weights := _weights_with_presets(headers[identifier], presets))
    }
    if not weights_of_id:
        return {}
    # A name is looked up only where a hit has it: most lead elsewhere, and each takes a search.
    known_names = {name for key in scores for name in _alias_keys(headers[key])}
    gains: dict[str, float] = {}
    for identifier, weights in weights_of_id.items():
        for name, weight in weights.items():
            partner = resolve(name) if alias_key(name) in known_names else None
            if partner is None or partner["id"] not in scores or partner["id"] == identifier:
                continue
            if weight == RELATED_WEIGHT and _is_see_also(headers[identifier], partner, name):
                continue
            for receiver, giver in ((identifier, partner["id"]), (partner["id"], identifier)):
                gain = share * weight * scores[giver]
                gains[receiver] = max(gains.get(receiver, 0.0), gain)
    return gains


def _weights_with_presets(header: CapabilityHeader, presets: Presets) -> dict[str, float]:
    weights = {name: COMPOSED_WEIGHT for name, _ in preset_partners(header, presets)}
    return weights | partner_weights(header)


def _is_see_also(header: CapabilityHeader, partner: CapabilityHeader, name: str) -> bool:
    """Whether `related` says "see also" here rather than "followed by": with a text at the other
    end, or where each of the two names the other.
    """
    if name not in header.get("related", ()) or name in header.get("composed_with", ()):
        return False
    names_back = set(map(alias_key, partner.get("related", ())))
    return partner.get("kind") in _KINDS_OF_TEXT or not names_back.isdisjoint(_alias_keys(header))


def _alias_keys(header: CapabilityHeader) -> Iterator[str]:
    """The keys of the ids and names by which `resolve` finds a capability."""
    name, identifier = header["name"], header["id"]
    category, title = header.get("category", ""), header.get("title", "")
    plain_id, others = identifier.partition("@")[0], header.get("other_names", ())
    return map(alias_key, (identifier, plain_id, name, f"{category}/{name}", title, *others))


def partner_weights(header: CapabilityHeader) -> dict[str, float]:
    """The names that a capability is used together with, by its list (weight 1), by its typed
    edges, and at half the weight by what a tool calls related; a table is used together with those
    that its keys refer to.
    """
    related = () if header.get("kind") in _KINDS_OF_TEXT else header.get("related", ())
    weights = dict.fromkeys(related, RELATED_WEIGHT)
    for edge in header.get("edges", ()):
        if edge["kind"].upper() in ("COMPOSED_WITH", "REFERS_TO"):
            weights[edge["target"]] = edge["weight"]
    return weights | dict.fromkeys(header.get("composed_with", ()), 1.0)


def preset_partners(header: CapabilityHeader, presets: Presets) -> Iterator[tuple[str, str]]:
    """The name of each other member of the presets that name this capability, with that of the
    preset.
    """
    keys = set(_alias_keys(header)) if presets else set()
    for preset, members in presets.items():
        others = [name for name in members if alias_key(name) not in keys]
        if len(others) < len(members):
            yield from ((name, preset) for name in others)


def required_names(header: CapabilityHeader) -> dict[str, float]:
    """The names that a capability requires, each with the weight of the strongest edge to it.

    What the graph shows as REQUIRES is what a search brings along: both read `find_references`.
    """
    weights: dict[str, float] = {}
    for kind, name, weight, _ in find_references(header):
        if kind == "REQUIRES":
            weights[name] = max(weight, weights.get(name, 0.0))
    return weights


# The relations that authors declare: lists of names, typed edges, tools that a skill may use.

# A tool that a skill is allowed to use is one that it may need.
ALLOWED_TOOL_WEIGHT = 0.5
_MAX_NAMES = 256


def find_declared_relations(
    headers: Sequence[CapabilityHeader],
    resolve: ResolveName,
    presets: Presets = MappingProxyType({}),
) -> tuple[list[Relation], list[UnresolvedRelation]]:
    """The declared edges between ids of the index, and those whose target it does not have; also
    the edges between the members of each preset.
    """
    relations: list[Relation] = []
    unresolved: list[UnresolvedRelation] = []
    for header in headers:
        by_preset = [
            ("COMPOSED_WITH", name, COMPOSED_WEIGHT, f"preset {preset}")
            for name, preset in preset_partners(header, presets)
        ]
        for kind, name, weight, why in (*find_references(header), *by_preset):
            target = resolve(name)
            if target is None:
                unresolved.append(
                    UnresolvedRelation(kind=kind, source=header["id"], target=name, why=why)
                )
            elif target["id"] != header["id"]:
                relations.append(make_relation(kind, header["id"], target["id"], weight, why))
    return relations, unresolved


def make_relation(kind: str, source: str, target: str, weight: float, why: str) -> Relation:
    """The edge; the ends of an undirected one are sorted."""
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
    """The first 256 names in a list, or in a text with commas; none in anything else."""
    if isinstance(value, str):
        items: Sequence[Any] = value.split(",")
    else:
        items = value if isinstance(value, list | tuple) else ()
    names = (item.strip() for item in items[:_MAX_NAMES] if isinstance(item, str))
    return list(dict.fromkeys(name for name in names if name))
