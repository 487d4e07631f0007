"""Writes a matrix: the last one with other rows of some capabilities, or a new one.

Of 1,000,000 rows a change copies 250 MB and adds a number to the owners behind it, all in C; to
make it of the text hashes of all capabilities takes their states, of which 300,000 fill 2 GB.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.publication import link_folder


class _Edit(NamedTuple):
    """Another number of rows of the capability with the number `owner`, or of a new one that takes
    this number. `old_rows` are those of before, an empty range for a new one, where its rows come
    in.
    """

    owner: int
    id: str
    old_rows: range
    row_count: int

    @property
    def added_owners(self) -> int:
        """1 for a new capability, -1 for one that is left out, else 0."""
        return bool(self.row_count) - bool(self.old_rows)


def write_matrix(
    matrix: Matrix, target: Path, counts: Mapping[str, int], read_rows: Callable[[str], bytes]
) -> None:
    """Write a matrix whose ids are in order, which may be empty, into another folder, with these
    numbers of rows of capabilities, which are read in the order of the ids: without rows they are
    left out, and new ones come in at their places.
    """
    if matrix.source is not None and not counts:
        link_folder(matrix.source, target)
        return
    target.mkdir(parents=True)
    edits = sorted(_make_edit(matrix, *item) for item in counts.items())
    _write_rows(matrix, target / "matrix.i8", edits, read_rows)
    (target / "owners.u32").write_bytes(_patch_owners(matrix, edits).tobytes())
    _write_ids(matrix, target, edits)


def _make_edit(matrix: Matrix, identifier: str, count: int) -> _Edit:
    owner, is_known = matrix.find_owner(identifier)
    start = bisect_left(matrix.owners, owner)
    old_rows = matrix.rows_of(identifier) if is_known else range(start, start)
    return _Edit(owner, identifier, old_rows, count)


def _write_rows(
    matrix: Matrix, path: Path, edits: Sequence[_Edit], read_rows: Callable[[str], bytes]
) -> None:
    done = 0
    with path.open("wb") as stream:
        for edit in edits:
            if done < edit.old_rows.start:
                stream.write(matrix.bytes_of(done, edit.old_rows.start))
            if edit.row_count:
                stream.write(read_rows(edit.id))
            done = edit.old_rows.stop
        if done < len(matrix):
            stream.write(matrix.bytes_of(done, len(matrix)))


def _patch_owners(matrix: Matrix, edits: Sequence[_Edit]) -> array[int]:
    owners, done, shift = array("I"), 0, 0
    for edit in edits:
        owners += _shift_numbers(matrix.owners[done : edit.old_rows.start], shift)
        owners.extend([edit.owner + shift] * edit.row_count)
        done = edit.old_rows.stop
        shift += edit.added_owners
    return owners + _shift_numbers(matrix.owners[done:], shift)


def _write_ids(matrix: Matrix, target: Path, edits: Sequence[_Edit]) -> None:
    old_starts = matrix.starts
    starts, done, shift = array("I"), 0, 0
    with (target / "ids.utf8").open("wb") as stream:
        for edit in edits:
            if not edit.added_owners:
                continue
            start = old_starts[edit.owner]
            stream.write(matrix.ids[old_starts[done] : start])
            starts += _shift_numbers(old_starts[done : edit.owner], shift)
            done = edit.owner
            if edit.row_count:
                starts.append(start + shift)
                shift += stream.write(edit.id.encode())
            else:
                done += 1
                shift -= old_starts[done] - start
        stream.write(matrix.ids[old_starts[done] :])
    starts += _shift_numbers(old_starts[done:], shift)
    (target / "starts.u32").write_bytes(starts.tobytes())


def _shift_numbers(numbers: array[int], shift: int) -> array[int]:
    return array("I", map(shift.__add__, numbers)) if shift else numbers
