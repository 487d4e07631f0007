"""The whole of the edges, and the part of them around some capabilities."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.frozen import replace
from capdisc_indexer.index import Index
from capdisc_indexer.relations.declared import declared
from capdisc_indexer.relations.derived import neighbours, tagged
from capdisc_indexer.relations.values import Network, Relation

# Those that capabilities declare or share; foreign keys are REFERS_TO.
KINDS = ("REQUIRES", "COMPOSED_WITH", "RELATED", "REFERS_TO", "TAGGED_WITH", "SAME_CATEGORY")


def whole(index: Index) -> Network:
    """Every edge between capabilities of the index, all of them at depth 0."""
    heads = list(index.documents.everything())
    known: dict[str, Mapping[str, Any] | None] = {}

    def resolve(name: str) -> Mapping[str, Any] | None:
        if name not in known:
            known[name] = index.resolve(name)
        return known[name]

    written, lost = declared(heads, lambda key: json.loads(index.documents.body(key) or b"{}"), resolve)
    by_tag, common = tagged(heads)
    by_category, large = neighbours(heads)
    return Network(
        depths={head["id"]: 0 for head in heads},
        relations=_ordered([*written, *by_tag, *by_category]),
        unresolved=tuple(dict.fromkeys(lost)),
        ignored=(*common, *large),
    )


def among(network: Network, kinds: Collection[str], min_weight: float) -> Network:
    """The same capabilities with the edges of these kinds (none: all) and of at least this weight."""
    kept = [each for each in network.relations if (not kinds or each.kind in kinds) and each.weight >= min_weight]
    lost = [each for each in network.unresolved if not kinds or each.kind in kinds]
    return replace(network, relations=tuple(kept), unresolved=tuple(lost))


def around(network: Network, ids: Sequence[str], depth: int) -> Network:
    """What can be reached from the ids in at most `depth` steps, whatever the direction, and the edges between that."""
    reachable: dict[str, list[str]] = defaultdict(list)
    for each in network.relations:
        reachable[each.source].append(each.target)
        reachable[each.target].append(each.source)
    depths, frontier = dict.fromkeys(ids, 0), list(ids)
    for step in range(1, depth + 1):
        frontier = [other for each in frontier for other in reachable[each] if other not in depths]
        frontier = list(dict.fromkeys(frontier))
        depths |= dict.fromkeys(frontier, step)
    if depth <= 1:  # what is related to the ids; not what its relatives have to do with each other
        kept = [each for each in network.relations if each.source in ids or each.target in ids]
    else:
        kept = [each for each in network.relations if each.source in depths and each.target in depths]
    lost = [each for each in network.unresolved if each.source in depths]
    return replace(network, depths=depths, relations=tuple(kept), unresolved=tuple(lost))


def limited(network: Network, nodes: int, edges: int) -> Network:
    """At most so many capabilities, the nearest and best connected ones, and so many edges between them, the heaviest;
    what is left out is counted."""
    weight: dict[str, float] = defaultdict(float)
    for each in network.relations:
        weight[each.source] += each.weight
        weight[each.target] += each.weight
    order = sorted(network.depths, key=lambda key: (network.depths[key], -round(weight[key], 6), key))
    kept = {key: network.depths[key] for key in order[:nodes]}
    between = [each for each in network.relations if each.source in kept and each.target in kept]
    lost = network.unresolved[:edges]
    left_out = {
        "capabilities": len(order) - len(kept),
        "edges": len(network.relations) - len(between[:edges]),
        "unresolved": len(network.unresolved) - len(lost),
    }
    return replace(network, depths=kept, relations=tuple(between[:edges]), unresolved=lost, left_out=left_out)


def connected(network: Network) -> Network:
    """The same without the capabilities that no edge touches."""
    touched = {end for each in network.relations for end in (each.source, each.target)}
    return replace(network, depths={key: value for key, value in network.depths.items() if key in touched})


def stats(network: Network) -> dict[str, Any]:
    """Numbers about the network: capabilities, edges by kind, the best connected, those that stand alone."""
    kinds: dict[str, int] = defaultdict(int)
    degree: dict[str, set[str]] = defaultdict(set)
    for each in network.relations:
        kinds[each.kind] += 1
        degree[each.source].add(each.target)
        degree[each.target].add(each.source)
    most = sorted(degree, key=lambda key: (-len(degree[key]), key))[:5]
    return {
        "capabilities": len(network.depths),
        "edges": len(network.relations),
        "pairs": len({frozenset((each.source, each.target)) for each in network.relations}),
        "kinds": dict(sorted(kinds.items())),
        "alone": sum(1 for key in network.depths if key not in degree),
        "most_connected": [{"id": key, "neighbours": len(degree[key])} for key in most],
        "unresolved": len(network.unresolved),
        "ignored": list(network.ignored),
    }


def _ordered(relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Each kind of each pair once, with its greatest weight; heaviest first, ties by kind and ids."""
    best: dict[tuple[str, str, str], Relation] = {}
    for each in relations:
        key = (each.kind, each.source, each.target)
        if key not in best or each.weight > best[key].weight:
            best[key] = each
    return tuple(sorted(best.values(), key=lambda each: (-each.weight, each.kind, each.source, each.target)))
