"""Where the capabilities of a picture stand: what one began with in the middle, the rest on rings around it."""

from __future__ import annotations

import math
from collections.abc import Mapping

# Room for a label between neighbours on a ring, and between rings.
_ARC, _RING = 190.0, 170.0


def places(depths: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    """A point for each id, around (0, 0). A ring has room for all that stand on it."""
    rings: dict[int, list[str]] = {}
    for identifier, depth in depths.items():
        rings.setdefault(depth, []).append(identifier)
    found: dict[str, tuple[float, float]] = {}
    radius = 0.0
    for depth in sorted(rings):
        ring = rings[depth]
        alone = depth == min(rings) and len(ring) == 1
        radius = 0.0 if alone else max(radius + _RING, len(ring) * _ARC / (2 * math.pi))
        # Each ring begins a little further on, so that labels of two rings do not stand in one line.
        for number, identifier in enumerate(ring):
            angle = 2 * math.pi * number / len(ring) + 0.35 * depth - math.pi / 2
            found[identifier] = (round(radius * math.cos(angle), 1), round(radius * math.sin(angle), 1))
    return found
