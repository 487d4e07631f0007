"""The whole of the edges, and the part of them around some capabilities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations
from typing import Any

from capdisc_indexer.graph.traversal import (
    CapabilityGraph,
    Relation,
    find_declared_relations,
    make_relation,
)
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CapabilityHeader
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Hit, Ranking
from capdisc_indexer.store.snapshot import Index

# The edges that nobody wrote: shared tags, and small groups of one kind in one category.

WEIGHT_PER_TAG, MIN_SHARED_TAGS = 0.3, 2
# A tag on more capabilities than this, or on more than a quarter of them, tells nothing about a
# pair, and makes n²/2 of them.
MAX_TAG_CAPABILITIES, MAX_TAG_SHARE, MIN_TAG_LIMIT = 50, 0.25, 8
CATEGORY_WEIGHT, CATEGORY_GROUP_SIZES = 0.1, range(2, 9)


def find_tag_relations(headers: Sequence[CapabilityHeader]) -> tuple[list[Relation], list[str]]:
    """An edge of 0.3 a shared tag, 1 at most, for each pair that shares two or more; and the tags
    that were too common to count.
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
    """An edge of 0.1 for each pair of one kind and category, in groups of two to eight; and the
    groups that were too large. What has no category of its own is in none.
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
    large = [
        f"category {key[1]} of kind {key[0]} ({len(ids)})"
        for key, ids in sorted(groups.items())
        if len(ids) > 8
    ]
    return relations, large


def _group_ids(pairs: Iterable[tuple[Any, str]]) -> dict[Any, list[str]]:
    """The ids by key, each once and in order."""
    groups: dict[Any, set[str]] = defaultdict(set)
    for key, identifier in pairs:
        groups[key].add(identifier)
    return {key: sorted(ids) for key, ids in groups.items()}


# What goes with the hits of a query, for who asks for it. By default nothing is added: it helped
# no measured query.

NEIGHBOUR_SHARE = 0.7


def add_neighbours(
    index: Index, ranking: Ranking, limit: int, is_available: Callable[[CapabilityHeader], bool]
) -> tuple[Hit, ...]:
    """The hits, and behind them up to `limit` capabilities that they declare as related or used
    together, at 0.7 of their score, `via` the hit; the query's filters hold for them too.
    """
    ids = {hit.id for hit in ranking.hits}
    neighbours: list[Hit] = []
    for hit in ranking.hits:
        header = index.documents.headers_for([hit.id], ranking.query).get(hit.id)
        if header is None:
            continue
        for name in (*header.get("related", ()), *header.get("composed_with", ())):
            neighbour = index.resolve(name)
            if (
                neighbour is None
                or neighbour["id"] in ids
                or not _is_eligible(index, neighbour, ranking, is_available)
            ):
                continue
            ids.add(neighbour["id"])
            score = round(NEIGHBOUR_SHARE * hit.score, 4)
            neighbours.append(
                Hit(
                    id=neighbour["id"],
                    score=score,
                    relevance=0.0,
                    via=hit.id,
                    signals={"related": score},
                )
            )
    return (*ranking.hits, *neighbours[:limit])


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


# Those that capabilities declare or share; foreign keys are REFERS_TO.
EDGE_KINDS = ("REQUIRES", "COMPOSED_WITH", "RELATED", "REFERS_TO", "TAGGED_WITH", "SAME_CATEGORY")


def build_graph(index: Index) -> CapabilityGraph:
    """Every edge between capabilities of the index, all of them at depth 0."""
    headers = list(index.documents.all_headers())
    header_of_name: dict[str, CapabilityHeader | None] = {}

    def resolve(name: str) -> CapabilityHeader | None:
        if name not in header_of_name:
            header_of_name[name] = index.resolve(name)
        return header_of_name[name]

    written, unresolved = find_declared_relations(headers, resolve)
    by_tag, common = find_tag_relations(headers)
    by_category, large = find_category_relations(headers)
    return CapabilityGraph(
        depths={header["id"]: 0 for header in headers},
        relations=_strongest_edges([*written, *by_tag, *by_category]),
        unresolved=tuple(dict.fromkeys(unresolved)),
        ignored=(*common, *large),
    )


def filter_edges(
    graph: CapabilityGraph, kinds: Collection[str], min_weight: float
) -> CapabilityGraph:
    """The same capabilities with the edges of these kinds (none: all) and of at least this
    weight.
    """
    relations = [
        relation
        for relation in graph.relations
        if (not kinds or relation.kind in kinds) and relation.weight >= min_weight
    ]
    unresolved = [
        unresolved_relation
        for unresolved_relation in graph.unresolved
        if not kinds or unresolved_relation.kind in kinds
    ]
    return replace(graph, relations=tuple(relations), unresolved=tuple(unresolved))


def select_neighbourhood(graph: CapabilityGraph, ids: Sequence[str], depth: int) -> CapabilityGraph:
    """What can be reached from the ids in at most `depth` steps, whatever the direction, and the
    edges between that.
    """
    reachable: dict[str, list[str]] = defaultdict(list)
    for relation in graph.relations:
        reachable[relation.source].append(relation.target)
        reachable[relation.target].append(relation.source)
    depths, frontier = dict.fromkeys(ids, 0), list(ids)
    for step in range(1, depth + 1):
        frontier = [
            neighbour
            for identifier in frontier
            for neighbour in reachable[identifier]
            if neighbour not in depths
        ]
        frontier = list(dict.fromkeys(frontier))
        depths |= dict.fromkeys(frontier, step)
    if depth <= 1:  # what is related to the ids; not what its relatives have to do with each other
        relations = [
            relation
            for relation in graph.relations
            if relation.source in ids or relation.target in ids
        ]
    else:
        relations = [
            relation
            for relation in graph.relations
            if relation.source in depths and relation.target in depths
        ]
    unresolved = [
        unresolved_relation
        for unresolved_relation in graph.unresolved
        if unresolved_relation.source in depths
    ]
    return replace(graph, depths=depths, relations=tuple(relations), unresolved=tuple(unresolved))


def limit_graph(graph: CapabilityGraph, nodes: int, edges: int) -> CapabilityGraph:
    """At most so many capabilities, the nearest and best connected ones, and so many edges between
    them, the heaviest; what is left out is counted.
    """
    weight: dict[str, float] = defaultdict(float)
    for relation in graph.relations:
        weight[relation.source] += relation.weight
        weight[relation.target] += relation.weight
    order = sorted(graph.depths, key=lambda key: (graph.depths[key], -round(weight[key], 6), key))
    depths = {key: graph.depths[key] for key in order[:nodes]}
    between = [
        relation
        for relation in graph.relations
        if relation.source in depths and relation.target in depths
    ]
    unresolved = graph.unresolved[:edges]
    left_out = {
        "capabilities": len(order) - len(depths),
        "edges": len(graph.relations) - len(between[:edges]),
        "unresolved": len(graph.unresolved) - len(unresolved),
    }
    return replace(
        graph,
        depths=depths,
        relations=tuple(between[:edges]),
        unresolved=unresolved,
        left_out=left_out,
    )


def drop_isolated(graph: CapabilityGraph) -> CapabilityGraph:
    """The same without the capabilities that no edge touches."""
    touched = {end for relation in graph.relations for end in (relation.source, relation.target)}
    return replace(
        graph, depths={key: value for key, value in graph.depths.items() if key in touched}
    )


def graph_stats(graph: CapabilityGraph) -> dict[str, Any]:
    """Numbers about the network: capabilities, edges by kind, the best connected, those that stand
    alone.
    """
    kinds: dict[str, int] = defaultdict(int)
    degree: dict[str, set[str]] = defaultdict(set)
    for relation in graph.relations:
        kinds[relation.kind] += 1
        degree[relation.source].add(relation.target)
        degree[relation.target].add(relation.source)
    best_connected = sorted(degree, key=lambda key: (-len(degree[key]), key))[:5]
    return {
        "capabilities": len(graph.depths),
        "edges": len(graph.relations),
        "pairs": len(
            {frozenset((relation.source, relation.target)) for relation in graph.relations}
        ),
        "kinds": dict(sorted(kinds.items())),
        "alone": sum(1 for key in graph.depths if key not in degree),
        "most_connected": [{"id": key, "neighbours": len(degree[key])} for key in best_connected],
        "unresolved": len(graph.unresolved),
        "ignored": list(graph.ignored),
    }


def _strongest_edges(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Each kind of each pair once, with its greatest weight; heaviest first, ties by kind and
    ids.
    """
    best: dict[tuple[str, str, str], Relation] = {}
    for relation in relations:
        key = (relation.kind, relation.source, relation.target)
        if key not in best or relation.weight > best[key].weight:
            best[key] = relation
    return tuple(
        sorted(
            best.values(),
            key=lambda relation: (
                -relation.weight,
                relation.kind,
                relation.source,
                relation.target,
            ),
        )
    )
