"""What stands on a line of a picture."""

from __future__ import annotations

from capdisc_indexer.relations.values import Relation
from capdisc_indexer.text import one_line

ID_CHARACTERS = 80


def of_id(identifier: str) -> str:
    """The id as a label: one line, bounded, nothing that hides or steers."""
    return one_line(identifier, ID_CHARACTERS)


def of_edge(relation: Relation) -> str:
    """The kind and the weight, `REQUIRES` alone where the weight is 1."""
    kind = one_line(relation.kind, 40)
    return kind if relation.weight == 1.0 else f"{kind} {relation.weight:g}"
