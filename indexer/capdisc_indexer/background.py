"""How near a text that means nothing comes to something in this catalogue, by this encoder.

The more capabilities there are, the nearer the nearest one is to any text at all: 0.29 for 120 of them, 0.40 for 1,800.
So the level above which a cosine says something is measured when the index is built, on words that nobody uses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.store.matrix import Matrix

PROBES = 64
PERCENTILE = 75
_SYLLABLES = (
    "ba bi bo bu da de di do fa fe fi ga go gri ka ke ki ko lo lu ma me mi mo na ne ni no pa pe pi po qua ra re ri ro "
    "sa se si so ta te ti to tra va ve vi vo wa we xi ya zo zu ble fru ploz snar gnix quorp zimb"
).split()


# The distance of the row that is nearest to a probe, and the hash of its text.
Nearest = tuple[float, str]


def background(nearest: Sequence[Nearest]) -> float:
    """The cosine that three of four meaningless queries stay below; 0 for no rows."""
    found = sorted(1.0 - distance for distance, _ in nearest)
    whole, part = divmod(PERCENTILE * max(len(found) - 1, 0), 100)
    low, high = [*found, 0.0][whole], [*found, 0.0, 0.0][whole + 1]
    return round(float(low + (high - low) * part / 100), 4)


def nearest(
    encoder: Encoder, matrix: Matrix, hashes: Sequence[str], fresh: Sequence[int], before: Sequence[Nearest]
) -> list[Nearest]:
    """What is nearest to each probe among the rows, of which `hashes` are the texts; of no rows, nothing.

    Where the row that was nearest `before` is still there, only the `fresh` ones can be nearer: of 10,000 rows that
    saves 30 ms, of 100,000 ten times as much.
    """
    there = set(hashes)
    if not there or (before and not fresh and all(text in there for _, text in before)):
        return list(before) if there else []
    queries = [query for query in map(encoder.encode_query, probes()) if any(query)]
    known: list[Nearest | None] = [one if one[1] in there else None for one in before] or [None] * len(queries)
    return [
        min([one, *(_only(matrix, row, query, hashes) for row in fresh)]) if one else _of_all(matrix, query, hashes)
        for query, one in zip(queries, known, strict=True)
    ]


def _only(matrix: Matrix, row: int, query: bytes, hashes: Sequence[str]) -> Nearest:
    return matrix.distance(query, row), hashes[row]


def _of_all(matrix: Matrix, query: bytes, hashes: Sequence[str]) -> Nearest:
    distances = matrix.distances(query).tolist()
    least = min(distances)
    return least, hashes[distances.index(least)]


def probes() -> list[str]:
    """Queries of one to four made-up words, the same ones every time."""
    rng = random.Random(7)
    return [" ".join(_word(rng) for _ in range(rng.randint(1, 4))) for _ in range(PROBES)]


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))
