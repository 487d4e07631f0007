"""Databases behind an address are asked only with permission, and remembered from then on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from capdisc_data import reflection

SCHEMA = """
CREATE TABLE clients (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(80) NOT NULL DEFAULT 'x');
CREATE TABLE visits (id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES clients (id), day DATE);
CREATE VIEW recent AS SELECT id, day FROM visits;
"""
needs_sqlalchemy = pytest.mark.sql


@pytest.fixture
def database(hermetic: Path) -> str:
    with closing(sqlite3.connect(hermetic / "crm.data")) as connection:
        connection.executescript(SCHEMA)
    return f"sqlite:///{hermetic / 'crm.data'}"


@pytest.fixture
def declared(capdisc, hermetic: Path) -> Callable[..., None]:
    def write() -> None:
        text = '[[source]]\nformat = "sql"\nname = "crm"\nurl_secret = "CRM_URL"\n'
        (hermetic / "capdisc.toml").write_text(text)
        assert capdisc("trust", "--yes").code == 0

    return write


@pytest.fixture
def sqlalchemy() -> None:
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")


@needs_sqlalchemy
def test_what_it_answers_is_kept(
    capdisc, declared, database: str, monkeypatch, sqlalchemy
) -> None:
    """Tables of a server are indexed without counting its rows (S17, S19, S20, S22, S26)."""
    monkeypatch.setenv("CRM_URL", database)
    declared()
    assert capdisc("index", "--ask-servers").code == 0
    monkeypatch.delenv("CRM_URL")
    again = capdisc("index", "--json")
    assert again.json["published"] is False
    table = capdisc("show", "table:crm.visits", "--json").json["capabilities"][0]
    columns = {each["name"]: each for each in table["extra"]["columns"]}
    assert columns["client_id"]["foreign_key"] == "clients.id"
    assert (columns["day"]["type"], columns["id"]["primary_key"]) == ("DATE", True)
    assert (table["extra"]["dbType"], table["extra"]["row_count"]) == ("sqlite", None)
    assert (
        capdisc("search", "visits of clients", "--ids").out.splitlines()[0] == "table:crm.visits"
    )


@needs_sqlalchemy
def test_a_database_that_fails_keeps_what_it_said(
    capdisc, declared, database: str, monkeypatch, sqlalchemy
) -> None:
    monkeypatch.setenv("CRM_URL", database)
    declared()
    capdisc("index", "--ask-servers")
    monkeypatch.setenv("CRM_URL", "sqlite:////no/such/folder/with-Geheim77/x.db")
    result = capdisc("index", "--ask-servers")
    assert "could not be asked" in result.err and "what it said last stays" in result.err
    assert capdisc("show", "table:crm.visits").code == 0


@needs_sqlalchemy
@pytest.mark.parametrize(
    "url", ["Geheim77", "postgresql://me:Geheim77@127.0.0.1:1/x", "nodriver://u:Geheim77@h/x"]
)
def test_no_message_repeats_the_address(
    capdisc, declared, url: str, monkeypatch, sqlalchemy
) -> None:
    monkeypatch.setenv("CRM_URL", url)
    declared()
    result = capdisc("index", "--ask-servers")
    assert "could not be asked" in result.err
    assert "Geheim77" not in result.err + result.out


def test_without_the_extra_the_notice_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    assert "install the extra sql: " in reflection.read_request({"url": "sqlite://"}, b"")["hint"]
