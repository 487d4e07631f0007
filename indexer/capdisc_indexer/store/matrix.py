"""Searches the vectors as one flat int8 matrix on disk: exact, in about a millisecond, without the
import of LanceDB.

    matrix.i8     n rows of dim int8: unit vectors, scaled so that the largest component is 127
    owners.u32    n numbers: the capability that each row belongs to
    ids.utf8      the ids of the capabilities in the order of those numbers, one after the other
    starts.u32    where each id starts, and where the last one ends
"""

from __future__ import annotations

import heapq
import math
import mmap
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports

# From this number of rows on, the nearest are found by blocks; for fewer it does not pay.
_MIN_BLOCKED_ROWS = 1_000
# Places of rows in the memory of a process that lives long: 4 MB at most.
_CACHE_SIZE = 20_000


class Matrix:
    """An open matrix; its rows stay on disk and are paged in by the search. `owners`, `starts` and
    `ids` are the contents of those files. Without a `source` it is empty.
    """

    def __init__(self, source: Path | None, dim: int) -> None:
        self.dim, self.source = dim, source
        self._rows_of_id: dict[str, range] = {}
        self.owners, self.starts = array("I"), array("I", [0])
        self.ids = data = memoryview(b"")
        if source is not None:
            self.owners = array("I", (source / "owners.u32").read_bytes())
            self.starts = array("I", (source / "starts.u32").read_bytes())
            self.ids = _map_file(source / "ids.utf8", self.starts[-1])
            data = _map_file(source / "matrix.i8", len(self.owners) * dim)
        self._rows = data.cast("b", (len(self.owners), dim)) if len(self.owners) else None

    @property
    def owner_count(self) -> int:
        """How many capabilities have rows."""
        return len(self.starts) - 1

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def has_phrases(self) -> bool:
        """Whether any capability has more than one row."""
        return len(self.owners) > self.owner_count

    def nearest(self, query: bytes, count: int) -> list[tuple[str, float]]:
        """Ids and cosines of the `count` capabilities nearest to the query (dim int8), best first.

        A capability counts by its nearest row.
        """
        if not len(self) or not any(query):
            return []
        distances = self.distances(query)
        # A capability may own many rows (one for each phrase): take more rows until there are
        # enough capabilities.
        row_count, best = count, self._best_by_owner(distances, count)
        while len(best) < count and row_count < len(self):
            row_count *= 4
            best = self._best_by_owner(distances, row_count)
        return [
            (self._owner_id(owner), 1.0 - distance)
            for owner, distance in list(best.items())[:count]
        ]

    def _best_by_owner(self, distances: Any, rows: int) -> dict[int, float]:
        best: dict[int, float] = {}
        for row in nearest_rows(distances, rows):
            best.setdefault(self.owners[row], distances[row])
        return best

    def distances(self, query: bytes) -> Any:
        """The distance (1 - cosine) of each row from the query, as one buffer of floats."""
        # simsimd takes the query as a vector and the rows as a two-dimensional buffer.
        return memoryview(lazy_imports.simsimd().cosine(memoryview(query).cast("b"), self._rows))

    def distance(self, query: bytes, row: int) -> float:
        """The distance (1 - cosine) of one row from the query."""
        return self.distances_of(query, [row])[0]

    def distances_of(self, query: bytes, rows: Iterable[int]) -> list[float]:
        """The distance (1 - cosine) of each of these rows from the query; of one row at least."""
        assert self._rows is not None
        data = b"".join([self._rows[row : row + 1].cast("B") for row in rows])
        distances: Any = memoryview(
            lazy_imports.simsimd().cosine(memoryview(query).cast("b"), self._as_vectors(data))
        )
        values: list[float] = distances.tolist()
        return values

    def bytes_of(self, start: int, end: int) -> memoryview:
        """The rows from `start` up to `end` as stored bytes."""
        assert self._rows is not None
        return self._rows[start:end].cast("B")

    def first_rows(self) -> dict[str, int]:
        """The row of each capability's description by id: its first one."""
        rows: dict[int, int] = {}
        for row, owner in enumerate(self.owners):
            rows.setdefault(owner, row)
        names = self.names()
        return {names[owner]: row for owner, row in rows.items()}

    def _owner_id(self, owner: int) -> str:
        return self._encoded_id(owner).decode()

    def _encoded_id(self, owner: int) -> bytes:
        return bytes(self.ids[self.starts[owner] : self.starts[owner + 1]])

    def place_of(self, row: int) -> tuple[str, int]:
        """The capability that a row belongs to, and the number of the row in it, from 0."""
        owner = self.owners[row]
        return self._owner_id(owner), row - bisect_left(self.owners, owner)

    def first_row(self, identifier: str) -> int:
        """The first row of a capability, of a matrix whose ids are in order. Raises KeyError for
        one without rows.
        """
        return self.rows_of(identifier).start

    def rows_of(self, identifier: str) -> range:
        """The rows of a capability, of a matrix whose ids are in order. Raises KeyError for one
        without rows.
        """
        if (rows := self._rows_of_id.get(identifier)) is not None:
            return rows
        number, is_known = self.find_owner(identifier)
        start = bisect_left(self.owners, number)
        if not is_known or start == len(self.owners):
            raise KeyError(identifier)
        if len(self._rows_of_id) >= _CACHE_SIZE:
            self._rows_of_id.clear()
        rows = self._rows_of_id[identifier] = range(
            start, bisect_right(self.owners, number, start)
        )
        return rows

    def count_rows(self, identifier: str) -> int:
        """How many rows a capability has, of a matrix whose ids are in order."""
        try:
            return len(self.rows_of(identifier))
        except KeyError:
            return 0

    def find_owner(self, identifier: str) -> tuple[int, bool]:
        """The number of a capability, or the one that it would have, of a matrix whose ids are in
        order; and whether it is there.
        """
        wanted = identifier.encode("utf-8", "replace")
        count = self.owner_count
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if self._encoded_id(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low, low < count and self._encoded_id(low) == wanted

    def centroid_cosine(self, query: bytes, rows: range) -> float:
        """The cosine of the query (not all 0) with the mean of these unit rows."""
        assert self._rows is not None
        # The length of the sum of unit rows is the root of the sum of all their cosines, so that
        # one comparison of the query and the rows with each other gives both.
        block = memoryview(query + bytes(self._rows[rows.start : rows.stop].cast("B")))
        vectors = self._as_vectors(block)
        distances: Any = memoryview(
            lazy_imports.simsimd().cdist(vectors, vectors, metric="cosine")
        )
        (_, *of_query), *of_rows = distances.tolist()
        total = math.fsum(1.0 - distance for distance in of_query)
        square = math.fsum(1.0 - distance for _, *row in of_rows for distance in row)
        return total / math.sqrt(square) if square > 0 else 0.0

    def density_lead(self, query: bytes, places: Iterable[range], count: int) -> float:
        """How much nearer the query (not all 0) is to its `count` nearest of these rows, by the
        mean cosine, than each of those is to its own nearest; 0 without another row.

        It is the local outlier factor (Breunig et al. 2000) as a difference.
        """
        assert self._rows is not None
        buffers = [self._rows[rows.start : rows.stop].cast("B") for rows in places]
        pool = b"".join(buffers)
        total = len(pool) // self.dim
        if total < 2:
            return 0.0
        rows = self._as_vectors(pool)
        of_query = memoryview(
            lazy_imports.simsimd().cosine(memoryview(query).cast("b"), rows)
        ).tolist()
        nearest = heapq.nsmallest(count, range(total), key=of_query.__getitem__)
        near_rows = b"".join([pool[at * self.dim : (at + 1) * self.dim] for at in nearest])
        distances: Any = memoryview(
            lazy_imports.simsimd().cdist(self._as_vectors(near_rows), rows, metric="cosine")
        )
        # The first of its own neighbours is the row itself.
        gaps = [
            math.fsum(heapq.nsmallest(count + 1, row)[1:]) / min(count, total - 1) - of_query[at]
            for at, row in zip(nearest, distances.tolist(), strict=True)
        ]
        return math.fsum(gaps) / len(gaps)

    def _as_vectors(self, data: bytes | memoryview) -> memoryview:
        """The bytes as (n, dim) int8."""
        return memoryview(data).cast("b", (len(data) // self.dim, self.dim))

    def rows_by_owner(self) -> dict[str, int]:
        """How many rows each capability has, in the order of the numbers in `owners`."""
        names = self.names()
        edges = [bisect_left(self.owners, owner) for owner in range(len(names))]
        ends = [*edges[1:], len(self.owners)]
        return {name: end - start for name, start, end in zip(names, edges, ends, strict=True)}

    def names(self) -> list[str]:
        """The ids of the capabilities in the order of the numbers in `owners`."""
        data = bytes(self.ids)
        return [data[start:end].decode() for start, end in pairwise(self.starts)]


def nearest_rows(distances: Any, count: int) -> list[int]:
    """At least the `count` nearest rows, exact, nearest first; equal ones keep their order.

    `min` over a block of the buffer is five times as fast as comparing each number in Python. No
    row of the result is further away than the count-th smallest of those minima, so only blocks
    with a minimum up to that limit are searched. With the distances, 100 of 100,000 rows take 4 ms
    and of 1,000,000 32 ms, which is why there is no approximate index here.
    """
    if lazy_imports.numpy_if_loaded() is not None:
        return _nearest_rows_numpy(distances, count)
    total = len(distances)
    size = math.isqrt(4 * total // max(count, 1))
    if total <= _MIN_BLOCKED_ROWS or size < 2:
        return heapq.nsmallest(count, range(total), key=distances.__getitem__)
    block_minima = [min(distances[start : start + size]) for start in range(0, total, size)]
    limit = heapq.nsmallest(count, block_minima)[-1]
    blocks = [number * size for number, smallest in enumerate(block_minima) if smallest <= limit]
    near = [
        row
        for start in blocks
        for row in range(start, min(start + size, total))
        if distances[row] <= limit
    ]
    return sorted(near, key=distances.__getitem__)


def _nearest_rows_numpy(distances: Any, count: int) -> list[int]:
    """The same rows in a third of the time, for a process that has imported numpy."""
    np = lazy_imports.numpy()
    values = np.asarray(distances)
    limit = np.partition(values, count - 1)[count - 1] if count < len(values) else np.inf
    near = np.flatnonzero(values <= limit)
    rows: list[int] = near[np.argsort(values[near], kind="stable")].tolist()
    return rows


def _map_file(path: Path, size: int) -> memoryview:
    """The bytes of the file, mapped into memory; empty for size 0, which cannot be mapped."""
    if not size:
        return memoryview(b"")
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
