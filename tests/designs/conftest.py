"""The workspaces of the five designs, each copied and indexed for one walk through its document."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_indexer.model.json_types import Arguments, JsonObject
from typed_cases import open_workspace, shared_folder, type_case, type_in_workspace

__all__ = ["open_workspace", "shared_folder", "type_case", "type_in_workspace"]

DESIGNS = Path(__file__).resolve().parents[2] / "fixtures" / "designs"
OpenDesign = Callable[[str], Path]
Ask = Callable[..., JsonObject]


def copy_design(name: str, folder: Path) -> Path:
    """A copy of the workspace NAME in the folder, with its database."""
    workspace = folder / name
    shutil.copytree(DESIGNS / name, workspace)
    for script in workspace.rglob("chinook.sql"):
        with closing(sqlite3.connect(script.with_suffix(".sqlite"))) as database, database:
            database.executescript(script.read_text(encoding="utf-8"))
        script.unlink()
    return workspace


@pytest.fixture
def open_design(hermetic, monkeypatch, capdisc) -> OpenDesign:
    """Copy the workspace NAME, go into it and index it: `open_design("constat")`."""

    def open_workspace(name: str) -> Path:
        workspace = copy_design(name, hermetic)
        monkeypatch.chdir(workspace)
        monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
        done = capdisc("index", "--quiet")
        assert (done.code, done.err) == (0, "")
        return workspace

    return open_workspace


@pytest.fixture
def ask(capdisc) -> Ask:
    """The answer of a discovery tool: `ask("list_tables", database="chinook")`."""

    def call_tool(tool: str, **arguments: Arguments) -> JsonObject:
        done = capdisc("call", tool, json.dumps(arguments))
        assert (done.code, done.err) == (0, ""), done.err
        return done.json

    return call_tool
