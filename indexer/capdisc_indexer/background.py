"""How near a text that means nothing comes to something in this catalogue, by this encoder.

The more capabilities there are, the nearer the nearest one is to any text at all: 0.29 for 120 of them, 0.40 for 1,800.
So the level above which a cosine says something is measured when the index is built, on words that nobody uses.
"""

from __future__ import annotations

import random

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.store.matrix import Matrix

PROBES = 64
PERCENTILE = 75
_SYLLABLES = (
    "ba bi bo bu da de di do fa fe fi ga go gri ka ke ki ko lo lu ma me mi mo na ne ni no pa pe pi po qua ra re ri ro "
    "sa se si so ta te ti to tra va ve vi vo wa we xi ya zo zu ble fru ploz snar gnix quorp zimb"
).split()


def background(encoder: Encoder, matrix: Matrix) -> float:
    """The cosine that three of four meaningless queries stay below; 0 for no rows."""
    if not len(matrix):
        return 0.0
    queries = [encoder.encode_query(text) for text in probes()]
    nearest = sorted(1.0 - min(matrix.distances(query)) for query in queries if any(query))
    whole, part = divmod(PERCENTILE * max(len(nearest) - 1, 0), 100)
    low, high = [*nearest, 0.0][whole], [*nearest, 0.0, 0.0][whole + 1]
    return round(float(low + (high - low) * part / 100), 4)


def probes() -> list[str]:
    """Queries of one to four made-up words, the same ones every time."""
    rng = random.Random(7)
    return [" ".join(_word(rng) for _ in range(rng.randint(1, 4))) for _ in range(PROBES)]


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
