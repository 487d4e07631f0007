"""The edges that authors declare: lists of names, typed edges, tools that a skill may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from capdisc_indexer import graph
from capdisc_indexer.relations.values import UNDIRECTED, Relation, Unresolved

COMPOSED, RELATED = 0.5, 0.5
# A tool that a skill is allowed to use is one that it may need.
ALLOWED = 0.5
_MAX_NAMES = 256

Body = Callable[[str], Mapping[str, Any]]


def declared(
    heads: Sequence[Mapping[str, Any]], body: Body, resolve: graph.Resolve
) -> tuple[list[Relation], list[Unresolved]]:
    """The edges of all heads between ids of the index, and those that lead nowhere. `body` gives the long parts."""
    found: list[Relation] = []
    lost: list[Unresolved] = []
    for head in heads:
        for kind, name, weight, why in _named(head, body):
            target = resolve(name)
            if target is None:
                lost.append(Unresolved(kind=kind, source=head["id"], target=name, why=why))
            elif target["id"] != head["id"]:
                found.append(relation(kind, head["id"], target["id"], weight, why))
    return found, lost


def relation(kind: str, source: str, target: str, weight: float, why: str) -> Relation:
    """The edge, the ends of an undirected one in order."""
    if kind in UNDIRECTED and target < source:
        source, target = target, source
    return Relation(kind=kind, source=source, target=target, weight=round(weight, 4), why=why)


def _named(head: Mapping[str, Any], body: Body) -> Iterator[tuple[str, str, float, str]]:
    """Kind, name, weight and origin of everything that a capability points to."""
    for kind, key, weight in (
        ("REQUIRES", "requires", 1.0),
        ("COMPOSED_WITH", "composed_with", COMPOSED),
        ("RELATED", "related", RELATED),
    ):
        yield from ((kind, name, weight, key) for name in head.get(key, ()))
    for edge in head.get("edges", ()):
        kind = "REQUIRES" if edge["kind"].upper() == "DEPENDS_ON" else edge["kind"].upper()
        yield kind, edge["target"], float(edge["weight"]), "edges"
    if head["kind"] == "skill":
        yield from _of_skill(body(head["id"]).get("extra") or {})


def _of_skill(extra: Mapping[str, Any]) -> Iterator[tuple[str, str, float, str]]:
    metadata = extra.get("metadata") if isinstance(extra.get("metadata"), Mapping) else {}
    for value in (extra.get("dependencies"), (metadata or {}).get("dependencies")):
        yield from (("REQUIRES", name, 1.0, "dependencies") for name in _names(value))
    for tool in _names(extra.get("allowed-tools")):
        # `Bash(git:*)` allows some uses of the tool that stands before the bracket.
        yield "REQUIRES", tool.partition("(")[0].strip() or tool, ALLOWED, "allowed-tools"


def _names(value: Any) -> list[str]:
    """The names in a list, or in a text with commas."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
    names = (item.strip() for item in items[:_MAX_NAMES] if isinstance(item, str))
    return list(dict.fromkeys(name for name in names if name))
