"""SQLite databases: what they declare, and what hostile ones cannot do."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from capdisc_data import sqlite
from capdisc_indexer.model.types import Descriptor, LoadedFile
from found_files import found

MUSIC = """
CREATE TABLE artists (id INTEGER PRIMARY KEY, name TEXT NOT NULL); -- outside
CREATE TABLE albums (
    id INTEGER NOT NULL,
    title NVARCHAR(160) NOT NULL DEFAULT 'untitled', -- as printed on the cover
    artist_id INTEGER REFERENCES artists,
    price NUMERIC(10, 2) DEFAULT (1 + 2),
    PRIMARY KEY (id, title)
);
CREATE VIEW cheap AS SELECT id, title FROM albums WHERE price < 5;
CREATE INDEX by_title ON albums (title);
INSERT INTO artists VALUES (1, 'Nina'), (2, 'Miles');
INSERT INTO albums VALUES (1, 'Blue', 2, 3.5), (2, 'Red', 1, 9), (3, 'Sun', 1, NULL);
"""


def make(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
        connection.commit()
    return path


@pytest.fixture
def music(tmp_path: Path) -> Path:
    return make(tmp_path / "music.sqlite", MUSIC)


def loaded(path: Path, **options: Any) -> LoadedFile:
    return sqlite.load(found(path, "sqlite", options=options), b"")


def by_id(result: LoadedFile) -> dict[str, Descriptor]:
    return {each.id: each for each in result.descriptors}


def codes(result: LoadedFile) -> list[str]:
    return [finding.code for finding in result.findings]


def test_a_database_its_tables_and_views_are_capabilities(music: Path) -> None:
    """An SQLite file gives a database and its tables and views (S17, S26)."""
    result = loaded(music)
    assert list(by_id(result)) == [
        "database:music",
        "table:music.albums",
        "table:music.artists",
        "table:music.cheap",
    ]
    assert by_id(result)["database:music"].extra == {
        "dbType": "sqlite",
        "tables": ["albums", "artists", "cheap"],
    }
    assert result.findings == ()


def test_columns_are_those_of_table_info(music: Path) -> None:
    """Columns agree with PRAGMA table_info in name, type, nullability, default and key; an INTEGER
    PRIMARY KEY is never NULL (S20).
    """
    with closing(sqlite3.connect(music)) as connection:
        for name in ("artists", "albums", "cheap"):
            declared = connection.execute(f"PRAGMA table_info({name})").fetchall()
            columns = by_id(loaded(music))[f"table:music.{name}"].extra["columns"]
            assert [
                (each["name"], each["type"], not each["nullable"], each["default"], each["key"])
                for each in columns
            ] == [
                (column, kind, bool(needed) or (kind, key) == ("INTEGER", 1), default, key)
                for _, column, kind, needed, default, key in declared
            ]


def test_row_counts_are_those_of_select_count(music: Path) -> None:
    """Tables are counted; a view is a query, and nothing runs it unasked (S19)."""
    tables = by_id(loaded(music))
    counts = {
        name: tables[f"table:music.{name}"].extra["row_count"]
        for name in ("albums", "artists", "cheap")
    }
    assert counts == {"albums": 3, "artists": 2, "cheap": None}


def test_foreign_keys_are_columns_and_edges(music: Path) -> None:
    """A key that names no column leads to the primary key (S22)."""
    albums = by_id(loaded(music))["table:music.albums"]
    keys = {each["name"]: each["foreign_key"] for each in albums.extra["columns"]}
    assert keys == {"id": None, "title": None, "artist_id": "artists.id", "price": None}
    edge = albums.edges[0]
    assert (edge.kind, edge.source, edge.target, edge.weight) == (
        "REFERS_TO",
        "table:music.albums",
        "table:music.artists",
        0.5,
    )
    assert "Refers to artists." in albums.description
    assert "Referred to by albums." in by_id(loaded(music))["table:music.artists"].description


def test_comments_of_the_declaration_are_kept(music: Path) -> None:
    title = by_id(loaded(music))["table:music.albums"].extra["columns"][1]
    assert title["description"] == "as printed on the cover"


def test_there_are_no_samples_unless_they_are_asked_for(music: Path) -> None:
    """No samples are stored unless they are asked for (S23)."""
    assert "samples" not in by_id(loaded(music))["table:music.albums"].extra


def test_samples_say_how_complete_they_are(music: Path) -> None:
    """Samples count the distinct values and say whether they are complete (S23, S224)."""
    albums = by_id(loaded(music, samples=2))["table:music.albums"].extra
    assert albums["samples"]["artist_id"] == {"values": [2, 1], "distinct": 2, "complete": True}
    assert albums["samples"]["title"] == {
        "values": ["Blue", "Red"],
        "distinct": 3,
        "complete": False,
    }
    assert albums["rows"] == [[1, "Blue", 2, 3.5], [2, "Red", 1, 9]]
    assert albums["complete"] is False
    assert by_id(loaded(music, samples=2))["table:music.artists"].extra["complete"] is True


def test_columns_of_secrets_give_no_samples(tmp_path: Path) -> None:
    path = make(
        tmp_path / "u.db",
        "CREATE TABLE u (name, password_hash); INSERT INTO u VALUES ('Ann', 'x1y2');",
    )
    table = by_id(loaded(path, samples=5))["table:u.u"].extra
    assert list(table["samples"]) == ["name"]
    assert table["rows"] == [["Ann", None]]
    assert table["complete"] is False


def test_reading_writes_nothing_beside_the_file(music: Path) -> None:
    with closing(sqlite3.connect(music)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    before = (
        sorted(path.name for path in music.parent.iterdir()),
        hashlib.sha256(music.read_bytes()).digest(),
    )
    assert "database:music" in by_id(loaded(music, samples=3))
    assert before == (
        sorted(path.name for path in music.parent.iterdir()),
        hashlib.sha256(music.read_bytes()).digest(),
    )


def test_pending_changes_of_a_log_are_said(music: Path) -> None:
    (music.parent / "music.sqlite-wal").write_bytes(b"pending")
    assert codes(loaded(music)) == ["data-pending"]


@pytest.mark.parametrize(
    "content", [b"", b"no database", b"SQLite format 3\0" + bytes(range(256)) * 20]
)
def test_a_file_that_is_no_database_is_a_finding(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.sqlite"
    path.write_bytes(content)
    result = loaded(path)
    assert result.descriptors == ()
    # An empty file is an empty database to the library: it holds no tables, and that is no error.
    assert codes(result) == (["unreadable-data"] if content else [])


def test_a_broken_schema_is_a_finding(tmp_path: Path) -> None:
    path = make(tmp_path / "b.sqlite", "CREATE TABLE good (a); CREATE TABLE bad (b);")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE bad ((((' WHERE name = 'bad'"
        )
        connection.commit()
    assert codes(loaded(path)) == ["unreadable-data"]


def test_a_truncated_database_costs_itself_only(music: Path) -> None:
    music.write_bytes(music.read_bytes()[:5_000])
    result = loaded(music)
    assert codes(result) in (["unreadable-data"], [])


def test_virtual_tables_are_named_and_not_read(tmp_path: Path) -> None:
    path = make(
        tmp_path / "v.sqlite",
        "CREATE TABLE plain (a); CREATE VIRTUAL TABLE found USING fts5(body);",
    )
    result = loaded(path)
    assert list(by_id(result)) == ["database:v", "table:v.plain"]
    assert [(each.code, each.severity) for each in result.findings] == [("table-skipped", "info")]
    assert "found" in result.findings[0].message


def test_a_view_that_never_ends_is_not_run(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    path = make(tmp_path / "e.sqlite", f"CREATE TABLE t (a); CREATE VIEW endless AS {endless};")
    view = by_id(loaded(path))["table:e.endless"]
    assert [each["name"] for each in view.extra["columns"]] == ["x"]


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


def test_a_view_of_something_gone_leaves_the_rest(tmp_path: Path) -> None:
    path = make(
        tmp_path / "g.sqlite",
        "CREATE TABLE a (x); CREATE TABLE b (x); CREATE VIEW v AS SELECT x FROM b;",
    )
    make(path, "PRAGMA legacy_alter_table = ON; DROP TABLE b;")
    result = loaded(path)
    assert list(by_id(result)) == ["database:g", "table:g.a"]
    assert codes(result) == ["table-skipped"]


def test_names_that_nobody_could_type_are_left_out(tmp_path: Path) -> None:
    path = make(
        tmp_path / "o.sqlite",
        'CREATE TABLE "Order Details" (a); CREATE TABLE "a\nb" (a); CREATE TABLE "<x>" (a);',
    )
    result = loaded(path)
    assert list(by_id(result)) == ["database:o", "table:o.Order Details"]
    assert codes(result) == ["table-skipped", "table-skipped"]


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


def test_values_that_json_does_not_have_become_words(tmp_path: Path) -> None:
    path = make(
        tmp_path / "j.sqlite",
        "CREATE TABLE t (a, b); INSERT INTO t VALUES (x'0001', 9e999),"
        " (printf('%.*c', 300, 'x'), 'a' || char(27) || 'b');",
    )
    rows = by_id(loaded(path, samples=5))["table:j.t"].extra["rows"]
    assert rows[0] == ["<2 bytes>", "inf"]
    assert rows[1] == ["x" * 199 + "…", "ab"]


def test_the_declared_name_is_that_of_the_database(music: Path) -> None:
    result = sqlite.load(found(music, "sqlite", name="record shop"), b"")
    assert "table:record-shop.albums" in by_id(result)
