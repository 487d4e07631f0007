"""The folders in which rows are typed: each copied and indexed once, and shared by all that only read."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from adopting import adopt

from rows.table import REPOSITORY, Row

OpenWorkspace = Callable[[Row], Path]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this worker keeps the workspaces that it has indexed."""
    return tmp_path_factory.mktemp("rows")


@pytest.fixture
def open_workspace(hermetic, shared_folder, capdisc, monkeypatch) -> OpenWorkspace:
    """Go into the workspace of a row: shared, or of its own where the row changes files."""

    def open_folder(row: Row) -> Path:
        folder = (shared_folder if row.is_shared else hermetic) / (row.workspace or "new")
        index = folder.with_suffix(".index")
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(index))
        if folder.exists():
            monkeypatch.chdir(folder)
            for made in folder.parent.glob(f"{index.name}*"):
                adopt(made)
            return folder
        _copy_workspace(row.workspace, folder)
        for name, text in row.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        monkeypatch.chdir(folder)
        if row.workspace:
            configured = {"capdisc.toml", ".wunderland"} & set(os.listdir(folder))
            done = capdisc("index", "--quiet", *([] if configured else ["."]))
            assert row.files or (done.code, done.err) == (0, "")
        return folder

    return open_folder


def _copy_workspace(name: str, folder: Path) -> None:
    if not name:
        folder.mkdir()
        return
    (source,) = (REPOSITORY / "fixtures").glob(f"*/{name}")
    shutil.copytree(source, folder)
    for script in folder.rglob("chinook.sql"):
        with closing(sqlite3.connect(script.with_suffix(".sqlite"))) as database, database:
            database.executescript(script.read_text(encoding="utf-8"))
