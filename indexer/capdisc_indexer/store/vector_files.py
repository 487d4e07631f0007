"""Stores the vectors at full precision, so that unchanged texts are never encoded twice.

Two files hold them, so that a build reads and writes them without a library:

    hashes        n text hashes of 32 digits
    rows.f32      n rows of dim float32, in their order

Most lie in `vectors/`, which a small update links into its generation; the few that came after it
was written lie in `pending/`, until a build with many of them writes all into `vectors/`.
"""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from capdisc_indexer.model.errors import DamagedIndexError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store.native_errors import REBUILD_HINT

_HASH_DIGITS = 32
_FLOAT_BYTES = 4
# Rows in memory at a time, while a table is written or read.
BATCH_ROWS = 8_192


def write_pending(target: Path, hashes: Sequence[str], rows: bytes) -> None:
    """Write the rows (float32, one after the other) and the hashes of their texts; without rows no
    files.
    """
    if not hashes:
        return
    target.mkdir()
    (target / "hashes").write_bytes("".join(hashes).encode("ascii"))
    (target / "rows.f32").write_bytes(rows)


def read_pending(source: Path) -> tuple[list[str], Any]:
    """The hashes, and all rows as one buffer of float32.

    Raises OSError or ValueError when they cannot be read.
    """
    try:
        hashes = _read_hash_list(source)
    except FileNotFoundError:
        return [], memoryview(array("f"))
    return hashes, memoryview((source / "rows.f32").read_bytes()).cast("f")


def _read_hash_list(source: Path) -> list[str]:
    text = (source / "hashes").read_bytes().decode("ascii")
    return [text[at : at + _HASH_DIGITS] for at in range(0, len(text), _HASH_DIGITS)]


@frozen(kw_only=True)
class VectorBatch:
    """`rows` are float32, one after the other; row i is of the text with the hash `hashes[i]`."""

    hashes: Sequence[str]
    rows: bytes


def write_vectors(target: Path, batches: Iterable[VectorBatch]) -> None:
    """Write all rows of the batches. Raises OSError when the disk refuses."""
    target.mkdir(parents=True, exist_ok=True)
    with (target / "hashes").open("wb") as hashes, (target / "rows.f32").open("wb") as rows:
        for batch in batches:
            hashes.write("".join(batch.hashes).encode("ascii"))
            rows.write(batch.rows)


def read_vectors(source: Path, dim: int) -> tuple[list[str], memoryview]:
    """The text hashes, and their vectors as bytes of float32, which stay on disk.

    Raises DamagedIndexError when the two files do not agree, OSError when one cannot be read.
    """
    hashes = _read_hash_list(source)
    with (source / "rows.f32").open("rb") as file:
        rows = map_file(file)
    if len(rows) != len(hashes) * dim * _FLOAT_BYTES:
        raise DamagedIndexError("the index is damaged: its vectors do not agree", REBUILD_HINT)
    return hashes, rows


def map_file(file: IO[bytes]) -> memoryview:
    """The bytes of the open file, mapped into memory; those of an empty one cannot be."""
    size = os.fstat(file.fileno()).st_size
    return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b"")


class StoredVectors:
    """The vectors of a generation by text hash: those of `vectors/`, then those of `pending/`.
    `numbers` is the place of each.
    """

    def __init__(self, folder: Path, dim: int) -> None:
        hashes, self._stored = read_vectors(folder / "vectors", dim)
        pending_hashes, pending = read_pending(folder / "pending")
        self._pending, self._size = pending.cast("B"), dim * _FLOAT_BYTES
        self.numbers = {key: row for row, key in enumerate((*hashes, *pending_hashes))}

    def row(self, text_hash: str) -> bytes:
        """The vector as bytes of float32. Raises KeyError for an unknown text."""
        start, rows = self.numbers[text_hash] * self._size, self._stored
        if start >= len(rows):
            start, rows = start - len(rows), self._pending
        return bytes(rows[start : start + self._size])


def read_hashes(source: Path) -> set[str]:
    """The hashes of the texts whose vectors `vectors/` holds."""
    return set(_read_hash_list(source))


def count_rows(source: Path) -> int:
    """The number of rows in `vectors/`."""
    return (source / "hashes").stat().st_size // _HASH_DIGITS
