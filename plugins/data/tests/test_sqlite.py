"""SQLite databases that are damaged, hostile, too large or replaced; the others: sqlite.toml."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_data import sqlite
from capdisc_indexer.model.types import LoadedFile
from found_files import found


def make(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.commit()
    return path


@pytest.fixture
def music(tmp_path: Path) -> Path:
    return make(tmp_path / "music.sqlite", "CREATE TABLE a (x); CREATE TABLE b (x);")


def loaded(path: Path) -> LoadedFile:
    return sqlite.load(found(path, "sqlite"), b"")


def codes(result: LoadedFile) -> list[str]:
    return [finding.code for finding in result.findings]


def test_a_truncated_database_costs_itself_only(music: Path) -> None:
    music.write_bytes(music.read_bytes()[:5_000])
    result = loaded(music)
    assert codes(result) in (["unreadable-data"], [])


def test_views_nested_to_explode_cost_this_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "READ_TIMEOUT_S", 2)
    views = "".join(
        f"CREATE VIEW v{n} AS SELECT a.x FROM v{n - 1} a, v{n - 1} b;" for n in range(1, 40)
    )
    path = make(tmp_path / "n.sqlite", f"CREATE TABLE v0 (x); {views}")
    result = loaded(path)
    assert codes(result) in (["unreadable-data"], ["table-skipped"]) or result.descriptors


def test_more_tables_than_anyone_reads_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "MAX_TABLES", 2)
    path = make(
        tmp_path / "m.sqlite", "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);"
    )
    result = sqlite.read_database(str(path.resolve()), path.stat().st_ino)
    assert [table.name for table in result.tables] == ["a", "b"]
    assert "1 of 3" in result.notes[0].message


def test_a_link_put_in_its_place_is_not_followed(music: Path, tmp_path: Path) -> None:
    file = found(music, "sqlite")
    other = make(tmp_path / "other.sqlite", "CREATE TABLE secret (a);")
    music.unlink()
    music.symlink_to(other)
    result = sqlite.load(file, b"")
    assert (result.descriptors, codes(result)) == ((), ["vanished"])
