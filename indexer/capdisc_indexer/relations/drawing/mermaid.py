"""Mermaid's flowchart, as Markdown viewers draw it."""

from __future__ import annotations

import re

from capdisc_indexer.relations.drawing.labels import of_edge, of_id
from capdisc_indexer.relations.values import Network, Relation

# All else is written as a character code: viewers read labels as Markdown and as HTML.
_SPECIAL = re.compile(r"[^\w :./@+-]")


def mermaid(network: Network) -> str:
    """One flowchart from left to right; edges that read the same from either end have no arrow heads."""
    numbers = {identifier: f"n{number}" for number, identifier in enumerate(network.depths)}
    nodes = [f"  {number}[{_quoted(of_id(identifier))}]" for identifier, number in numbers.items()]
    edges = [_edge(each, numbers) for each in network.relations]
    return "\n".join(["flowchart LR", *nodes, *edges, ""])


def _edge(relation: Relation, numbers: dict[str, str]) -> str:
    line = "-->" if relation.directed else "---"
    return f"  {numbers[relation.source]} {line}|{_quoted(of_edge(relation))}| {numbers[relation.target]}"


def _quoted(text: str) -> str:
    return '"' + _SPECIAL.sub(lambda match: f"#{ord(match[0])};", text) + '"'
