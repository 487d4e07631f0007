"""Texts made of pieces that mean something to some parser."""

from __future__ import annotations

import random
from collections.abc import Sequence

from case_rows import read_rows

# Two code points that XML has no way to write.
NOT_XML = "\ufffe\uffff"
FRAMING: list[str] = read_rows(__file__, "framing")
ASKING: list[str] = read_rows(__file__, "asking")


def put_together(rng: random.Random, pieces: Sequence[str], most: int) -> str:
    """Up to `most` pieces in a row, now and then any character at all."""
    made = (
        rng.choice(pieces) if rng.random() < 0.95 else chr(rng.randrange(0x110000))
        for _ in range(rng.randrange(most + 1))
    )
    return "".join(piece for piece in made if piece not in NOT_XML)
