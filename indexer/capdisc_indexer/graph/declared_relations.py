"""The edges that authors declare: lists of names, typed edges, tools that a skill may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer.graph import traversal
from capdisc_indexer.graph.edge_types import UNDIRECTED, Relation, UnresolvedRelation

COMPOSED_WEIGHT, RELATED_WEIGHT = 0.5, 0.5
# A tool that a skill is allowed to use is one that it may need.
ALLOWED_TOOL_WEIGHT = 0.5
_MAX_NAMES = 256

ReadBody = Callable[[str], Mapping[str, Any]]


def find_declared_relations(
    headers: Sequence[Mapping[str, Any]], read_body: ReadBody, resolve: traversal.ResolveName
) -> tuple[list[Relation], list[UnresolvedRelation]]:
    """The edges of all heads between ids of the index, and those that lead nowhere. `read_body`
    gives the long parts.
    """
    relations: list[Relation] = []
    unresolved: list[UnresolvedRelation] = []
    for header in headers:
        for kind, name, weight, why in _find_references(header, read_body):
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


def _find_references(
    header: Mapping[str, Any], read_body: ReadBody
) -> Iterator[tuple[str, str, float, str]]:
    """Kind, name, weight and origin of everything that a capability points to."""
    for kind, key, weight in (
        ("REQUIRES", "requires", 1.0),
        ("COMPOSED_WITH", "composed_with", COMPOSED_WEIGHT),
        ("RELATED", "related", RELATED_WEIGHT),
    ):
        yield from ((kind, name, weight, key) for name in header.get(key, ()))
    for edge in header.get("edges", ()):
        kind = "REQUIRES" if edge["kind"].upper() == "DEPENDS_ON" else edge["kind"].upper()
        yield kind, edge["target"], float(edge["weight"]), "edges"
    if header["kind"] == "skill":
        yield from _find_skill_references(read_body(header["id"]).get("extra") or {})


def _find_skill_references(extra: Mapping[str, Any]) -> Iterator[tuple[str, str, float, str]]:
    metadata = extra.get("metadata") if isinstance(extra.get("metadata"), Mapping) else {}
    for value in (extra.get("dependencies"), (metadata or {}).get("dependencies")):
        yield from (("REQUIRES", name, 1.0, "dependencies") for name in _parse_names(value))
    for tool in _parse_names(extra.get("allowed-tools")):
        # `Bash(git:*)` allows some uses of the tool that stands before the bracket.
        yield (
            "REQUIRES",
            tool.partition("(")[0].strip() or tool,
            ALLOWED_TOOL_WEIGHT,
            "allowed-tools",
        )


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
