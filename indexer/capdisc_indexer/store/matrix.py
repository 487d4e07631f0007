"""The vectors as one flat int8 matrix on disk: exact search in about a millisecond, without the vector store's import.

matrix.i8     n rows of dim int8: each row a unit vector scaled so that its largest component is 127
owners.u32    n numbers: which capability each row belongs to
ids.json      the capabilities' ids, in the order of those numbers
"""

from __future__ import annotations

import heapq
import json
import mmap
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.quantise import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray


def write(target: Path, vectors: NDArray[Any], owners: Sequence[int], ids: Sequence[str]) -> None:
    """Write the matrix of (n, dim) float32 vectors; `owners` holds n numbers of `ids`."""
    target.mkdir(parents=True, exist_ok=True)
    (target / "matrix.i8").write_bytes(quantise(vectors).tobytes() if len(vectors) else b"")
    (target / "owners.u32").write_bytes(array("I", owners).tobytes())
    (target / "ids.json").write_text(json.dumps(list(ids), ensure_ascii=False), encoding="utf-8")


class Matrix:
    """An open matrix; rows stay on disk and are paged in by the scan."""

    def __init__(self, source: Path, dim: int) -> None:
        self.dim = dim
        self._owners = array("I", (source / "owners.u32").read_bytes())
        self._ids_path = source / "ids.json"
        self._ids: list[str] | None = None
        self._rows = _mapped(source / "matrix.i8", len(self._owners), dim)

    def __len__(self) -> int:
        return len(self._owners)

    def nearest(self, query: bytes, count: int) -> list[tuple[str, float]]:
        """The `count` capabilities nearest to the query (dim int8), best first, each by its best row, as cosine."""
        if not len(self) or not any(query):
            return []
        distances = self._distances(query)
        # A capability may own many rows (one a phrase): look at more rows until enough capabilities are seen.
        wanted, best = count, self._best(distances, count)
        while len(best) < count and wanted < len(self):
            wanted *= 4
            best = self._best(distances, wanted)
        names = self.names()
        return [(names[owner], 1.0 - distance) for owner, distance in list(best.items())[:count]]

    def _best(self, distances: memoryview, rows: int) -> dict[int, float]:
        best: dict[int, float] = {}
        for row in heapq.nsmallest(rows, range(len(self)), key=distances.__getitem__):
            best.setdefault(self._owners[row], distances[row])
        return best

    def _distances(self, query: bytes) -> memoryview:
        # simsimd wants the one query as a vector and the rows as a two-dimensional buffer.
        return memoryview(engines.simsimd().cosine(memoryview(query).cast("b"), self._rows))

    def names(self) -> list[str]:
        """The ids of the capabilities, in the order in which rows refer to them."""
        if self._ids is None:
            self._ids = json.loads(self._ids_path.read_text(encoding="utf-8"))
        return self._ids


def _mapped(path: Path, rows: int, dim: int) -> memoryview | None:
    if not rows:
        return None
    with path.open("rb") as handle:
        view = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    return memoryview(view).cast("b", (rows, dim))
