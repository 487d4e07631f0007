"""Late interaction: every piece of the query looks for its like among a capability's pieces, and the other way round.

One vector a text blurs what it says; here each word is heard. This is ColBERT's sum of best matches (Khattab and
Zaharia 2020) over rows of the static table instead of a transformer's, each match weighed by what its piece is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter, mul

from capdisc_indexer.bags import Bag
from capdisc_indexer.encoders.static import Comparison, StaticEncoder
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
    whole = {key: (*full.name, *full.described, *full.body) for key, full in bags.items()}
    pieces = list(dict.fromkeys(chain.from_iterable(whole.values())))
    if not asked or not pieces:
        return dict.fromkeys(bags, Met())
    compared = encoder.compared(asked, pieces)
    place = dict(zip(pieces, range(len(pieces)), strict=True))
    found = list(map(_likeness, zip(*compared.distances, strict=True)))
    return {key: _met(compared, found, full, list(map(place.__getitem__, whole[key]))) for key, full in bags.items()}


def _met(compared: Comparison, found: Sequence[float], full: Bag, places: Sequence[int]) -> Met:
    """`places` are those of the bag's pieces: of the name's, of what the description adds, of the rest."""
    named = len(full.name)
    return Met(
        query=_best(compared, places),
        name=_share(places[:named], found, compared.others_worth),
        described=_share(places[: named + len(full.described)], found, compared.others_worth),
    )


def _likeness(distances: Sequence[float]) -> float:
    """The cosine to the nearest, 0 where it points away."""
    return max(0.0, 1.0 - min(distances))


def _best(compared: Comparison, places: Sequence[int]) -> float:
    """The mean of each query piece's best match among the places, weighed by what the piece is worth."""
    if not places:
        return 0.0
    # The first place twice: of a single one, itemgetter would give no tuple.
    at_places = itemgetter(places[0], *places)
    best = [_likeness(at_places(row)) for row in compared.distances]
    total: float = sum(map(mul, compared.worth, best))
    return total / sum(compared.worth)


def _share(places: Sequence[int], found: Sequence[float], worth: Sequence[float]) -> float:
    """The share of the places' worth that was found."""
    worths = [worth[place] for place in places]
    met: float = sum(map(mul, worths, [found[place] for place in places]))
    return met / sum(worths) if any(worths) else 0.0
