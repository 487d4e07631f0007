"""The relations that a manifest declares: `edges: [{target, type, weight}]`."""

from __future__ import annotations

from capdisc_indexer.model.types import Edge, Finding
from capdisc_indexer.sources.readers.field_reader import Fields
from capdisc_indexer.sources.readers.yaml_nodes import ListNode, MapNode, Node

EDGE_KINDS = ("REQUIRES", "COMPOSED_WITH", "RELATED", "REFERS_TO", "TAGGED_WITH", "SAME_CATEGORY")
# The same under the name that others have for it.
_ALSO = {"DEPENDS_ON": "REQUIRES"}
MAX_EDGES = 256

_NAMES = {"target": ("target", "to", "id"), "type": ("type", "kind"), "weight": ("weight",)}


def read_edges(fields: Fields, source: str, path: str) -> tuple[Edge, ...]:
    """The edges that leave `source`, without those that have no target."""
    node = fields.value("edges")
    if node is None:
        return ()
    if not isinstance(node, ListNode):
        fields.warn(
            "edges", "field-type", "edges is not a list", "write a list of target, type and weight"
        )
        return ()
    edge_list: list[Edge] = []
    for item in node.items[:MAX_EDGES]:
        edge, findings = _edge(item, source, path)
        fields.findings += findings
        if edge is None:
            fields.warn(
                "edges",
                "field-missing",
                "an edge has no target",
                "name the capability that it leads to",
            )
        else:
            edge_list.append(edge)
    return tuple(edge_list)


def _edge(item: Node, source: str, path: str) -> tuple[Edge | None, list[Finding]]:
    if not isinstance(item, MapNode):
        return None, []
    parts = Fields(item, path, _NAMES)
    target = parts.text("target")
    edge = (
        Edge(kind=_edge_kind(parts), source=source, target=target, weight=_weight(parts))
        if target
        else None
    )
    return edge, parts.findings


def _edge_kind(parts: Fields) -> str:
    kind = parts.text("type").upper().replace("-", "_").replace(" ", "_") or "RELATED"
    kind = _ALSO.get(kind, kind)
    if kind in EDGE_KINDS:
        return kind
    parts.warn(
        "type",
        "field-value",
        f"{kind[:64]} is no type of edge; read as RELATED",
        f"use one of {', '.join(EDGE_KINDS)}",
    )
    return "RELATED"


def _weight(parts: Fields) -> float:
    value = parts.number("weight")
    if value is None:
        return 1.0
    if 0.0 <= value <= 1.0:
        return value
    parts.warn(
        "weight",
        "field-value",
        "the weight of an edge is not between 0 and 1",
        "write a number from 0 to 1",
    )
    return min(1.0, max(0.0, value))
