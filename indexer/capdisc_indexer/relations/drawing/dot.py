"""The DOT language of Graphviz."""

from __future__ import annotations

from capdisc_indexer.relations.drawing.labels import of_edge, of_id
from capdisc_indexer.relations.values import Network, Relation


def dot(network: Network) -> str:
    """One directed graph; edges that read the same from either end have no arrow heads."""
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(network.depths)}
    nodes = [f"  {number} [label={_quoted(of_id(identifier))}];" for identifier, number in numbers.items()]
    edges = [_edge(each, numbers) for each in network.relations]
    return "\n".join(["digraph capabilities {", "  node [shape=box];", *nodes, *edges, "}", ""])


def _edge(relation: Relation, numbers: dict[str, str]) -> str:
    plain = "" if relation.directed else ", dir=none"
    ends = f"{numbers[relation.source]} -> {numbers[relation.target]}"
    return f"  {ends} [label={_quoted(of_edge(relation))}, penwidth={0.5 + 2 * relation.weight:g}{plain}];"


def _quoted(text: str) -> str:
    """A quoted string; a label reads a backslash as the begin of an escape, so it is doubled as the quotes are."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
