"""How near a text that means nothing comes to something in this catalogue, by this encoder.

The more capabilities there are, the nearer the nearest one is to any text at all: 0.29 for 120 of them, 0.40 for 1,800.
So the level above which a cosine says something is measured when the index is built, on words that nobody uses.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.encoders import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBES = 64
PERCENTILE = 75
_SYLLABLES = (
    "ba bi bo bu da de di do fa fe fi ga go gri ka ke ki ko lo lu ma me mi mo na ne ni no pa pe pi po qua ra re ri ro "
    "sa se si so ta te ti to tra va ve vi vo wa we xi ya zo zu ble fru ploz snar gnix quorp zimb"
).split()


def background(encoder: Encoder, rows: NDArray[Any]) -> float:
    """The cosine that three of four meaningless queries stay below, given (n, dim) float32 unit rows; 0 for no rows."""
    if not len(rows):
        return 0.0
    nearest = (encoder.encode(probes()) @ rows.T).max(axis=1)
    return round(float(engines.numpy().percentile(nearest, PERCENTILE)), 4)


def probes() -> list[str]:
    """Queries of one to four made-up words, the same ones every time."""
    rng = random.Random(7)
    return [" ".join(_word(rng) for _ in range(rng.randint(1, 4))) for _ in range(PROBES)]


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
