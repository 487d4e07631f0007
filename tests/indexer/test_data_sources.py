"""Tables and documents from their declaration to a hit, and what a second build reads again."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, BuildReport, DeclaredSource, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, api_hint TEXT);
CREATE TABLE songs (id INTEGER PRIMARY KEY, title TEXT, seconds INTEGER);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, song_id REFERENCES songs, day TEXT
);
CREATE TABLE audit_trail (at TEXT, message TEXT);
"""
TERMS = (
    "# Terms\n\nGeneral words.\n\n## Refunds\n\n"
    + "Padding. " * 400
    + "\n\nA purple umbrella is refunded in full.\n"
)


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as connection:
        connection.executescript(SHOP)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "terms.md").write_text(TERMS)
    (tmp_path / "prices.csv").write_text("item,price\nhat,3\n")
    return {"shop": tmp_path / "shop.sqlite", "papers": folder, "prices": tmp_path / "prices.csv"}


def built(places: dict[str, Path], tmp_path: Path, **options: object) -> BuildReport:
    sources = (
        DeclaredSource(format="sql", path=str(places["shop"]), options=options),
        DeclaredSource(format="document", path=str(places["papers"]), name="papers"),
        DeclaredSource(format="table", path=str(places["prices"]), name="market"),
    )
    return build_index([], tmp_path / "index", BuildOptions(sources=sources))


def ids(tmp_path: Path, text: str, **query: object) -> list[str]:
    with Index(tmp_path / "index") as index:
        found = search_index(index, Query(texts=(text,), **query), None, "lexical")
        return [hit.id for hit in found.hits]


def test_a_question_finds_the_table_that_joins_what_it_names(places, tmp_path: Path) -> None:
    """A question about two tables finds the table that joins them first (S21, S22)."""
    built(places, tmp_path)
    found = ids(tmp_path, "which songs did a customer order", kinds=("table",))
    assert set(found[:3]) == {"table:shop.orders", "table:shop.songs", "table:shop.customers"}
    assert found[0] == "table:shop.orders"


def test_data_files_are_read_only_when_declared(places, tmp_path: Path) -> None:
    build_index([tmp_path], tmp_path / "index", BuildOptions())
    with Index(tmp_path / "index") as index:
        kinds = {head["kind"] for head in index.documents.all_headers()}
    assert kinds == {"database", "table"}  # the database says itself what it is


def test_a_touched_file_is_unchanged_and_an_edit_with_the_old_time_is_not(
    places, tmp_path: Path
) -> None:
    """A touched file counts as unchanged; an edit with the old time counts as updated (S42)."""
    built(places, tmp_path)
    terms = places["papers"] / "terms.md"
    status = terms.stat()
    os.utime(terms, ns=(status.st_atime_ns, status.st_mtime_ns + 5_000_000_000))
    assert built(places, tmp_path).counts["updated"] == 0
    terms.write_text(TERMS.replace("purple", "yellow"))
    os.utime(terms, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert built(places, tmp_path).counts["updated"] > 0
    assert ids(tmp_path, "yellow umbrella")


def test_a_dropped_table_goes_and_the_others_stay_as_they_were(places, tmp_path: Path) -> None:
    """A dropped table leaves the index, and the others stay (S42, S121)."""
    built(places, tmp_path)
    with closing(sqlite3.connect(places["shop"])) as connection:
        connection.execute("DROP TABLE audit_trail")
    report = built(places, tmp_path)
    assert (report.counts["removed"], report.counts["updated"]) == (
        1,
        1,
    )  # the list of its tables changed, too
    with Index(tmp_path / "index") as index:
        listed = {head["id"] for head in index.documents.all_headers()}
    assert "table:shop.audit_trail" not in listed and "table:shop.orders" in listed


def test_a_removed_file_takes_its_tables_along(places, tmp_path: Path) -> None:
    """A deleted source takes its tables with it (S42)."""
    built(places, tmp_path)
    places["prices"].unlink()
    assert built(places, tmp_path).counts["removed"] == 1


def test_samples_come_when_the_declaration_asks_for_them_and_never_hold_keys(
    places, tmp_path: Path
) -> None:
    """Samples come only when asked for, and never hold a key (S23, S224)."""
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
    with closing(sqlite3.connect(places["shop"])) as connection:
        connection.execute(
            "INSERT INTO customers VALUES (1, 'Ann', ?), (2, 'Bob', 'none')", (key,)
        )
        connection.commit()
    built(places, tmp_path)
    with Index(tmp_path / "index") as index:
        assert "samples" not in index.descriptor("table:shop.customers").extra
    built(places, tmp_path, samples=5)
    with Index(tmp_path / "index") as index:
        extra = index.descriptor("table:shop.customers").extra
    assert extra["samples"]["name"] == {"values": ["Ann", "Bob"], "distinct": 2, "complete": True}
    assert extra["samples"]["api_hint"] == {"values": ["none"], "distinct": 2, "complete": False}
    assert extra["rows"] == [[1, "Ann", None], [2, "Bob", "none"]]
    assert extra["complete"] is False
