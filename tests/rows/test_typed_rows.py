"""Every row of the table holds when it is typed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rows.table import Row, load_rows
from rows.transcript import find_failure

TYPED = [row for row in load_rows() if row.typed]


def list_files(folder: Path) -> set[tuple[str, int]]:
    return {
        (str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("row", TYPED, ids=[row.name for row in TYPED])
def test_what_is_typed_gives_what_the_row_says(row: Row, open_workspace, run_line) -> None:
    folder = open_workspace(row)
    shared = bool(row.workspace) and not (row.files or row.changes_files)
    before = list_files(folder) if shared else set()
    failure = find_failure(row.typed, run_line, dict(os.environ))
    if failure and not row.open:
        pytest.fail(f"{row.name}: {row.need}\n{failure}", pytrace=False)
    assert failure or not row.open, f"{row.name} holds: take its `open` out of the table"
    if shared:
        assert list_files(folder) == before, f"{row.name} needs `changes_files`"
