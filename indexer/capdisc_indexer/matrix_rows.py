"""The rows of a new matrix: those that the last one has, and those of an intake."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from capdisc_indexer.errors import DamagedIndexError
from capdisc_indexer.intake import FEW, Intake
from capdisc_indexer.quantise import quantise, quantise_row
from capdisc_indexer.state import Wanted
from capdisc_indexer.store import integrity, matrix
from capdisc_indexer.store.matrix import Matrix


def write_matrix(target: Path, wanted: Wanted, rows: Iterable[bytes | memoryview]) -> None:
    """Write the matrix of `wanted`, whose rows come in pieces of any number."""
    owners = array("I", (owner for owner, texts in enumerate(wanted.values()) for _ in texts))
    matrix.write(target / "matrix", rows, owners, list(wanted))


def slices(last: Matrix, old: Mapping[str, int], wanted: Wanted, intake: Intake) -> Iterator[bytes | memoryview]:
    """The rows of `wanted`: runs of the last matrix, and single ones that are new."""
    fresh = _quantised(intake, last.dim)
    start = end = 0
    for text_hash in chain.from_iterable(wanted.values()):
        row = old.get(text_hash)
        if row == end and end > start:
            end += 1
            continue
        if end > start:
            yield last.bytes_of(start, end)
        start, end = (row, row + 1) if row is not None else (0, 0)
        if row is None:
            yield fresh(row_of(intake, text_hash))
    if end > start:
        yield last.bytes_of(start, end)


def _quantised(intake: Intake, dim: int) -> Callable[[int], bytes]:
    """What gives each row of the intake as the matrix holds it."""
    if len(intake.position) <= FEW:
        rows = memoryview(intake.raw()).cast("f")
        return lambda row: quantise_row(array("f", rows[row * dim : (row + 1) * dim]))
    found = quantise(intake.rows(dim))
    return lambda row: found[row].tobytes()


def row_of(intake: Intake, text_hash: str) -> int:
    """Where the intake keeps a text's vector. Raises DamagedIndexError for one that should be there, and is not."""
    try:
        return intake.position[text_hash]
    except KeyError:
        raise DamagedIndexError("the index is damaged: a vector is missing", integrity.REBUILD) from None
