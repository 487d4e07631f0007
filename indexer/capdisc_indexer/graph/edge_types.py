"""Edges between capabilities of the index, and what of them one looks at."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.model.frozen import field, frozen

# These mean the same read from either end; every other kind leads from its source to its target.
UNDIRECTED = frozenset({"COMPOSED_WITH", "RELATED", "TAGGED_WITH", "SAME_CATEGORY"})


@frozen(kw_only=True)
class Relation:
    """One edge between two ids of the index; `weight` is 0..1, `why` what it was derived from. The
    ends of an undirected one are in order.
    """

    kind: str
    source: str
    target: str
    weight: float
    why: str = ""

    @property
    def directed(self) -> bool:
        """Whether its direction says something."""
        return self.kind not in UNDIRECTED


@frozen(kw_only=True)
class UnresolvedRelation:
    """An edge that leads to nothing in the index; `target` is as written."""

    kind: str
    source: str
    target: str
    why: str


@frozen(kw_only=True)
class CapabilityGraph:
    """The edges between capabilities, all kinds of a pair, strongest first. `depths` are the ids
    of the picture and how far each is from where one began; `left_out` counts what a limit kept
    away; `ignored` are tags and categories that too many share.
    """

    depths: Mapping[str, int]
    relations: tuple[Relation, ...]
    unresolved: tuple[UnresolvedRelation, ...] = ()
    ignored: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
