"""The sums of late interaction from lists, for a process that asks once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter, mul

from capdisc_indexer.bags import unpacked
from capdisc_indexer.encoders.static import WHOLE, StaticEncoder

Sums = tuple[tuple[int, ...], tuple[int, ...]]


def sums(encoder: StaticEncoder, asked: Sequence[int], bags: Sequence[bytes]) -> list[Sums]:
    """For each packed bag, which is not empty, the worth that is met and the worth there is: of the asked pieces, of
    its name, and of its name and description."""
    opened = list(map(unpacked, bags))
    wholes = [(*full.name, *full.described, *full.body) for full in opened]
    pieces = list(dict.fromkeys(chain.from_iterable(wholes)))
    compared = encoder.compared(asked, pieces)
    rows, worth = compared.distances, compared.others_worth
    place = dict(zip(pieces, range(len(pieces)), strict=True))
    met = list(map(mul, worth, map(_likeness, map(min, *rows) if len(rows) > 1 else rows[0])))
    told = []
    for full, whole in zip(opened, wholes, strict=True):
        places = list(map(place.__getitem__, whole))
        ends = len(full.name), len(full.name) + len(full.described)
        found = [sum(met[at] for at in places[:end]) for end in ends]
        there = [sum(worth[at] for at in places[:end]) for end in ends]
        told.append(((_best(rows, compared.worth, places), *found), (sum(compared.worth), *there)))
    return told


def _likeness(distance: float) -> int:
    """The cosine in `WHOLE`ths, 0 where it points away."""
    return int(WHOLE * max(0.0, 1.0 - distance))


def _best(rows: Sequence[Sequence[float]], worth: Sequence[int], places: Sequence[int]) -> int:
    """The best match of each asked piece among the places, times its worth."""
    # The first place twice: of a single one, itemgetter would give no tuple.
    at_places = itemgetter(places[0], *places)
    return sum(map(mul, worth, [_likeness(min(at_places(row))) for row in rows]))
