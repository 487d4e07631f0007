"""Late interaction: every piece of the query looks for its like among a capability's pieces, and the other way round.

One vector a text blurs what it says; here each word is heard. This is ColBERT's sum of best matches (Khattab and
Zaharia 2020) over rows of the static table instead of a transformer's, each match weighed by what its piece is worth.

There are two ways to the same sums: one without arrays, whose import would double the time of a cold query, and one
with them, which takes a fifth of the time in a process that has them anyway (a server, an evaluation). The sums are of
whole numbers, so that no order of adding up changes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer import engines
from capdisc_indexer.encoders.static import WHOLE, StaticEncoder
from capdisc_indexer.frozen import frozen
from capdisc_indexer.interaction import with_arrays, without_arrays

MAX_QUERY_PIECES = 48


@frozen
class Met:
    """Shares 0..1: of the query that the capability meets, and of its name and its description that the query meets."""

    query: float = 0.0
    name: float = 0.0
    described: float = 0.0


def meet(encoder: StaticEncoder, text: str, bags: Mapping[str, bytes]) -> dict[str, Met]:
    """How each packed bag and the text meet; nothing met where either has no known piece."""
    asked = list(dict.fromkeys(encoder.pieces(text)))[:MAX_QUERY_PIECES]
    some = {key: data for key, data in bags.items() if len(data) > 8}
    unmet = dict.fromkeys(bags, Met())
    if not asked or not some:
        return unmet
    way = without_arrays if engines.numpy_at_hand() is None else with_arrays
    sums = way.sums(encoder, asked, list(some.values()))
    return unmet | {key: Met(*map(_share, *each)) for key, each in zip(some, sums, strict=True)}


def _share(met: int, worth: int) -> float:
    return met / (WHOLE * worth) if worth else 0.0
