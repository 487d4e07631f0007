"""Late interaction: every piece of the query looks for its like among a capability's pieces, and the other way round.

One vector a text blurs what it says; here each word is heard. This is ColBERT's sum of best matches (Khattab and
Zaharia 2020) over rows of the static table instead of a transformer's, each match weighed by what its piece is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.bags import Bag
from capdisc_indexer.encoders.static import StaticEncoder
from capdisc_indexer.frozen import frozen

MAX_QUERY_PIECES = 48


@frozen
class Met:
    """Shares 0..1: of the query that the capability meets, and of its name and its description that the query meets."""

    query: float = 0.0
    name: float = 0.0
    described: float = 0.0


def meet(encoder: StaticEncoder, text: str, bags: Mapping[str, Bag]) -> dict[str, Met]:
    """How each bag and the text meet; nothing met where either has no known piece."""
    asked = list(dict.fromkeys(encoder.pieces(text)))[:MAX_QUERY_PIECES]
    pieces = list(dict.fromkeys(piece for full in bags.values() for piece in (*full.name, *full.described, *full.body)))
    if not asked or not pieces:
        return dict.fromkeys(bags, Met())
    likeness = encoder.likeness(asked, pieces)
    worth = dict(zip(pieces, encoder.worth(pieces), strict=True))
    found = dict(zip(pieces, map(max, zip(*likeness, strict=True)), strict=True))
    place = {piece: at for at, piece in enumerate(pieces)}
    asked_worth = encoder.worth(asked)
    return {
        key: Met(
            query=_best(likeness, asked_worth, [place[p] for p in (*full.name, *full.described, *full.body)]),
            name=_share(full.name, found, worth),
            described=_share((*full.name, *full.described), found, worth),
        )
        for key, full in bags.items()
    }


def _best(likeness: Sequence[Sequence[float]], worth: Sequence[float], places: Sequence[int]) -> float:
    """The mean of each query piece's best match among the places, weighed by what the piece is worth."""
    if not places:
        return 0.0
    best = [max(0.0, *map(row.__getitem__, places)) for row in likeness]
    return sum(w * b for w, b in zip(worth, best, strict=True)) / sum(worth)


def _share(pieces: Sequence[int], found: Mapping[int, float], worth: Mapping[int, float]) -> float:
    total = sum(worth[piece] for piece in pieces)
    return sum(worth[piece] * max(0.0, found[piece]) for piece in pieces) / total if total else 0.0
