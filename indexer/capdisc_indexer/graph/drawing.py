"""Pictures of a graph: as text for programs that draw."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from capdisc_indexer.graph.relations import CapabilityGraph, Relation
from capdisc_indexer.text.normalization import one_line

# Labels, which both share.

MAX_ID_CHARACTERS = 80


def id_label(identifier: str) -> str:
    """The id as a label: one line, bounded, nothing that hides or steers."""
    return one_line(identifier, MAX_ID_CHARACTERS)


def edge_label(relation: Relation) -> str:
    """The kind and the weight, `REQUIRES` alone where the weight is 1."""
    kind = one_line(relation.kind, 40)
    return kind if relation.weight == 1.0 else f"{kind} {relation.weight:g}"


# The DOT language of Graphviz.


def draw_dot(graph: CapabilityGraph) -> str:
    """One directed graph; edges that read the same from either end have no arrow heads."""
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(graph.depths)}
    nodes = [
        f"  {number} [label={_quote_dot(id_label(identifier))}];"
        for identifier, number in numbers.items()
    ]
    edges = [_dot_edge(relation, numbers) for relation in graph.relations]
    return "\n".join(["digraph capabilities {", "  node [shape=box];", *nodes, *edges, "}", ""])


def _dot_edge(relation: Relation, numbers: dict[str, str]) -> str:
    plain = "" if relation.directed else ", dir=none"
    ends = f"{numbers[relation.source]} -> {numbers[relation.target]}"
    return f"  {ends} [label={_quote_dot(edge_label(relation))}, penwidth={0.5 + 2 * relation.weight:g}{plain}];"


def _quote_dot(text: str) -> str:
    """A quoted string; a label reads a backslash as the begin of an escape, so it is doubled as
    the quotes are.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Mermaid's flowchart, as Markdown viewers draw it.

# All else is written as a character code: viewers read labels as Markdown and as HTML.
_SPECIAL_CHARACTERS = re.compile(r"[^\w :./@+-]")


def draw_mermaid(graph: CapabilityGraph) -> str:
    """One flowchart from left to right; edges that read the same from either end have no arrow
    heads.
    """
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(graph.depths)}
    nodes = [
        f"  {number}[{_quote_mermaid(id_label(identifier))}]"
        for identifier, number in numbers.items()
    ]
    edges = [_mermaid_edge(relation, numbers) for relation in graph.relations]
    return "\n".join(["flowchart LR", *nodes, *edges, ""])


def _mermaid_edge(relation: Relation, numbers: dict[str, str]) -> str:
    line = "-->" if relation.directed else "---"
    return f"  {numbers[relation.source]} {line}|{_quote_mermaid(edge_label(relation))}| {numbers[relation.target]}"


def _quote_mermaid(text: str) -> str:
    return '"' + _SPECIAL_CHARACTERS.sub(lambda match: f"#{ord(match[0])};", text) + '"'


DRAWINGS: Mapping[str, Callable[[CapabilityGraph], str]] = MappingProxyType(
    {"dot": draw_dot, "mermaid": draw_mermaid}
)
