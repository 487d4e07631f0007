"""The graph of all capabilities, parts of it, numbers about it, and the neighbours of hits.

Beside the declared edges it has derived ones: from parameters to what gives their values, between
capabilities that share tags, and between those of a small category.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import TypedDict, TypeVar

from capdisc_indexer.graph.relations import (
    COMPOSED_WEIGHT,
    CapabilityGraph,
    Relation,
    find_declared_relations,
    make_relation,
    preset_partners,
)
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Hit, Presets, Ranking
from capdisc_indexer.store.snapshot import Index

KeyT = TypeVar("KeyT")

WEIGHT_PER_TAG, MIN_SHARED_TAGS = 0.3, 2
# A tag on more capabilities than this, or on more than a quarter of them, tells nothing about a
# pair, and makes n²/2 pairs.
MAX_TAG_CAPABILITIES, MAX_TAG_SHARE, MIN_TAG_LIMIT = 50, 0.25, 8
CATEGORY_WEIGHT, CATEGORY_GROUP_SIZES = 0.1, range(2, 9)


def find_tag_relations(headers: Sequence[CapabilityHeader]) -> tuple[list[Relation], list[str]]:
    """An edge for each pair that shares two tags or more, of weight 0.3 for each shared tag and 1
    at most; and the tags that were too common to count.
    """
    holders = _group_ids(
        (tag.lower(), header["id"]) for header in headers for tag in header.get("tags", ())
    )
    limit = min(MAX_TAG_CAPABILITIES, max(MIN_TAG_LIMIT, int(MAX_TAG_SHARE * len(headers))))
    ignored = sorted(tag for tag, ids in holders.items() if len(ids) > limit)
    shared: dict[tuple[str, str], list[str]] = defaultdict(list)
    for tag in sorted(set(holders) - set(ignored)):
        for pair in combinations(holders[tag], 2):
            shared[pair].append(tag)
    relations = [
        make_relation(
            "TAGGED_WITH",
            source,
            target,
            min(1.0, WEIGHT_PER_TAG * len(tags)),
            f"tags {', '.join(tags)}",
        )
        for (source, target), tags in shared.items()
        if len(tags) >= MIN_SHARED_TAGS
    ]
    return relations, [f"tag {tag} ({len(holders[tag])})" for tag in ignored]


def find_category_relations(
    headers: Sequence[CapabilityHeader],
) -> tuple[list[Relation], list[str]]:
    """An edge of weight 0.1 for each pair of one kind and category, in groups of two to eight; and
    the groups that were too large. Capabilities without a category are in no group.
    """
    groups = _group_ids(
        ((header["kind"], header["category"]), header["id"])
        for header in headers
        if header.get("category") and header["category"] != UNCATEGORISED
    )
    relations = [
        make_relation("SAME_CATEGORY", source, target, CATEGORY_WEIGHT, f"category {category}")
        for (_, category), ids in sorted(groups.items())
        if len(ids) in CATEGORY_GROUP_SIZES
        for source, target in combinations(ids, 2)
    ]
    large_groups = [
        f"category {category} of kind {kind} ({len(ids)})"
        for (kind, category), ids in sorted(groups.items())
        if len(ids) > CATEGORY_GROUP_SIZES[-1]
    ]
    return relations, large_groups


def _group_ids(pairs: Iterable[tuple[KeyT, str]]) -> dict[KeyT, list[str]]:
    """The ids of each key, sorted and without duplicates."""
    groups: dict[KeyT, set[str]] = defaultdict(set)
    for key, identifier in pairs:
        groups[key].add(identifier)
    return {key: sorted(ids) for key, ids in groups.items()}


# Neighbours of hits are added on request only: they helped no measured query.
NEIGHBOUR_SHARE = 0.7


def add_neighbours(
    index: Index, ranking: Ranking, limit: int, is_available: Callable[[CapabilityHeader], bool]
) -> tuple[Hit, ...]:
    """The hits, and behind them up to `limit` capabilities that they declare as related or as used
    together: at 0.7 of the hit's score, with `via` naming the hit, and within the query's filters.
    """
    ids = {hit.id for hit in ranking.hits}
    neighbours: list[Hit] = []
    for hit in ranking.hits:
        header = index.documents.headers_for([hit.id], ranking.query).get(hit.id)
        if header is None:
            continue
        by_preset = preset_partners(header, ranking.query.choices.presets)
        names = (*header.get("related", ()), *header.get("composed_with", ()))
        for name in (*names, *(name for name, _ in by_preset)):
            neighbour = index.resolve(name)
            if (
                neighbour is None
                or neighbour["id"] in ids
                or not _is_eligible(index, neighbour, ranking, is_available)
            ):
                continue
            ids.add(neighbour["id"])
            score = round(NEIGHBOUR_SHARE * hit.score, 4)
            signals = {"related": score}
            neighbours.append(
                Hit(id=neighbour["id"], score=score, relevance=0.0, via=hit.id, signals=signals)
            )
    return (*ranking.hits, *neighbours[:limit])


def add_preset_members(
    index: Index,
    ranking: Ranking,
    members: Mapping[str, CapabilityHeader],
    least: float,
    is_available: Callable[[CapabilityHeader], bool],
) -> tuple[Hit, ...]:
    """The hits, and behind those that are shown the other `members` (by id) of the query's
    presets: at half of the best hit's score, with `via` naming that hit, and within the query's
    filters.

    A member that is a hit of less relevance than `least`, and would not be shown, comes along in
    the same way. Without any hit nothing comes along.
    """
    shown = [hit for hit in ranking.hits if not hit.via and hit.relevance >= least]
    if not shown:
        return ranking.hits
    best, companions = shown[0], [hit for hit in ranking.hits if hit.via]
    present_ids = {hit.id for hit in (*shown, *companions)}
    score = round(COMPOSED_WEIGHT * best.score, 4)
    added = {
        key: Hit(id=key, score=score, relevance=0.0, via=best.id, signals={"preset": score})
        for key, header in members.items()
        if key not in present_ids and _is_eligible(index, header, ranking, is_available)
    }
    place = ranking.hits.index(shown[-1]) + 1
    others = (hit for hit in ranking.hits[place:] if hit.id not in added)
    return (*ranking.hits[:place], *added.values(), *others)


def _is_eligible(
    index: Index,
    header: CapabilityHeader,
    ranking: Ranking,
    is_available: Callable[[CapabilityHeader], bool],
) -> bool:
    query = ranking.query
    is_visible = bool(index.documents.headers_for([header["id"]], query)) and not header.get(
        "hidden"
    )
    return is_visible and (not query.available or is_available(header))


# The kinds of edges; REFERS_TO is a foreign key, TAKES_INPUT_FROM leads to a producer.
EDGE_KINDS = (
    "REQUIRES",
    "COMPOSED_WITH",
    "RELATED",
    "REFERS_TO",
    "TAKES_INPUT_FROM",
    "TAGGED_WITH",
    "SAME_CATEGORY",
)


def build_graph(index: Index, presets: Presets = MappingProxyType({})) -> CapabilityGraph:
    """All capabilities of the index, at depth 0, with every edge between them and those that the
    presets add.
    """
    headers = list(index.documents.all_headers())
    header_of_name: dict[str, CapabilityHeader | None] = {}

    def resolve(name: str) -> CapabilityHeader | None:
        if name not in header_of_name:
            header_of_name[name] = index.resolve(name)
        return header_of_name[name]

    declared, unresolved = find_declared_relations(headers, resolve, presets)
    by_input = [
        make_relation("TAKES_INPUT_FROM", header["id"], edge.producer, edge.weight, edge.why)
        for header in headers
        for edge in index.producers(header["id"])
    ]
    by_tag, common_tags = find_tag_relations(headers)
    by_category, large_groups = find_category_relations(headers)
    return CapabilityGraph(
        depths={header["id"]: 0 for header in headers},
        relations=_strongest_edges([*declared, *by_input, *by_tag, *by_category]),
        unresolved=tuple(dict.fromkeys(unresolved)),
        ignored=(*common_tags, *large_groups),
    )


def filter_edges(
    graph: CapabilityGraph, kinds: Collection[str], min_weight: float
) -> CapabilityGraph:
    """The same capabilities with the edges of these kinds (none: all kinds) and of at least this
    weight.
    """
    relations = [
        edge
        for edge in graph.relations
        if (not kinds or edge.kind in kinds) and edge.weight >= min_weight
    ]
    unresolved = [edge for edge in graph.unresolved if not kinds or edge.kind in kinds]
    return replace(graph, relations=tuple(relations), unresolved=tuple(unresolved))


def select_neighbourhood(
    graph: CapabilityGraph, ids: Sequence[str], depth: int
) -> CapabilityGraph:
    """The capabilities within `depth` steps of the ids, in either direction, and the edges between
    them; within one step, only the edges of the ids themselves.
    """
    neighbours: dict[str, list[str]] = defaultdict(list)
    for edge in graph.relations:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    depths, frontier = dict.fromkeys(ids, 0), list(ids)
    for step in range(1, depth + 1):
        next_ids = (neighbour for identifier in frontier for neighbour in neighbours[identifier])
        frontier = list(dict.fromkeys(key for key in next_ids if key not in depths))
        depths |= dict.fromkeys(frontier, step)
    relations = [edge for edge in graph.relations if edge.source in ids or edge.target in ids]
    if depth > 1:
        relations = _edges_between(graph, depths)
    unresolved = [edge for edge in graph.unresolved if edge.source in depths]
    return replace(graph, depths=depths, relations=tuple(relations), unresolved=tuple(unresolved))


def limit_graph(graph: CapabilityGraph, nodes: int, edges: int) -> CapabilityGraph:
    """The `nodes` nearest and best connected capabilities, and the `edges` heaviest edges between
    them; `left_out` counts the others.
    """
    weights: dict[str, float] = defaultdict(float)
    for edge in graph.relations:
        weights[edge.source] += edge.weight
        weights[edge.target] += edge.weight
    order = sorted(graph.depths, key=lambda key: (graph.depths[key], -round(weights[key], 6), key))
    depths = {key: graph.depths[key] for key in order[:nodes]}
    relations = tuple(_edges_between(graph, depths)[:edges])
    unresolved = graph.unresolved[:edges]
    left_out = {
        "capabilities": len(order) - len(depths),
        "edges": len(graph.relations) - len(relations),
        "unresolved": len(graph.unresolved) - len(unresolved),
    }
    return replace(
        graph, depths=depths, relations=relations, unresolved=unresolved, left_out=left_out
    )


def drop_isolated(graph: CapabilityGraph) -> CapabilityGraph:
    """The same without the capabilities that have no edge."""
    connected = {end for edge in graph.relations for end in (edge.source, edge.target)}
    return replace(
        graph, depths={key: depth for key, depth in graph.depths.items() if key in connected}
    )


class ConnectedCapability(TypedDict):
    """A capability, and how many others it has an edge with."""

    id: str
    neighbours: int


class GraphStats(TypedDict):
    """Numbers about a graph: capabilities, edges, pairs with an edge, edges by kind, capabilities
    without an edge, the five with the most neighbours, edges that lead nowhere, and the tags and
    categories that were too common to count.
    """

    capabilities: int
    edges: int
    pairs: int
    kinds: dict[str, int]
    alone: int
    most_connected: list[ConnectedCapability]
    unresolved: int
    ignored: list[str]


def graph_stats(graph: CapabilityGraph) -> GraphStats:
    """Numbers about the capabilities and edges of a graph."""
    kinds: dict[str, int] = defaultdict(int)
    neighbours: dict[str, set[str]] = defaultdict(set)
    for edge in graph.relations:
        kinds[edge.kind] += 1
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    most_connected = sorted(neighbours, key=lambda key: (-len(neighbours[key]), key))[:5]
    return {
        "capabilities": len(graph.depths),
        "edges": len(graph.relations),
        "pairs": len({frozenset((edge.source, edge.target)) for edge in graph.relations}),
        "kinds": dict(sorted(kinds.items())),
        "alone": sum(key not in neighbours for key in graph.depths),
        "most_connected": [
            {"id": key, "neighbours": len(neighbours[key])} for key in most_connected
        ],
        "unresolved": len(graph.unresolved),
        "ignored": list(graph.ignored),
    }


def _edges_between(graph: CapabilityGraph, ids: Container[str]) -> list[Relation]:
    return [edge for edge in graph.relations if edge.source in ids and edge.target in ids]


def _strongest_edges(edges: Iterable[Relation]) -> tuple[Relation, ...]:
    """The heaviest edge of each kind of each pair; heaviest first, ties by kind and ids."""
    strongest: dict[tuple[str, str, str], Relation] = {}
    for edge in edges:
        key = (edge.kind, edge.source, edge.target)
        if key not in strongest or edge.weight > strongest[key].weight:
            strongest[key] = edge
    return tuple(
        sorted(
            strongest.values(),
            key=lambda edge: (-edge.weight, edge.kind, edge.source, edge.target),
        )
    )
