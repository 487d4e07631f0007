"""Near copies in a ranking become one hit that names the others."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from capdisc_indexer.likeness import are_copies, opened
from capdisc_indexer.types import Hit

# Copies rank next to each other, so looking at the first ones is enough.
LOOKED_AT = 40


def collapse(hits: Sequence[Hit], heads: Mapping[str, Mapping[str, Any]]) -> list[Hit]:
    """The hits without near copies of better ones; each stands for its copies and names them.

    What another hit requires stays, whatever it is a copy of: it is needed by its own name.
    """
    kept: list[Hit] = []
    seen: list[tuple[int, array[int]]] = []
    for hit in hits[:LOOKED_AT]:
        digits = "" if hit.via else str(heads[hit.id].get("likeness", "")) if hit.id in heads else ""
        bins = opened(digits) if digits else None
        place = next((at for at, other in seen if bins is not None and are_copies(bins, other)), None)
        if place is not None:
            kept[place] = replace(kept[place], copies=(*kept[place].copies, hit.id))
            continue
        if bins is not None:
            seen.append((len(kept), bins))
        kept.append(hit)
    return [*kept, *hits[LOOKED_AT:]]
