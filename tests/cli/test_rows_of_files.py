"""Files of rows as databases, and their rows one by one."""

from __future__ import annotations

import pytest


@pytest.fixture
def exports(capdisc, hermetic, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    folder = hermetic / "exports"
    folder.mkdir()
    (folder / "metrics.csv").write_text("code,name\nA1,Visits\nB2,Orders\n")
    (folder / "events.jsonl").write_text('{"at": 1, "what": "login"}\n{"at": 2, "what": "buy"}\n')
    (hermetic / "capdisc.toml").write_text(
        '[[source]]\nformat = "table"\npath = "exports/*"\nsamples = 10\n'
    )
    assert capdisc("index", "--quiet").code == 0


def test_each_file_of_rows_is_a_database_with_type_and_description(capdisc, exports) -> None:
    """`list_databases` has a row of name, type and description for a CSV file and for one of JSON
    lines, and each can be asked for its tables (S17, S18).
    """
    databases = capdisc("call", "list_databases").json["databases"]
    assert databases == [
        {"name": "events", "type": "json", "description": "Columns: at, what."},
        {"name": "metrics", "type": "csv", "description": "Columns: code, name."},
    ]
    for database in databases:
        arguments = f'{{"database": "{database["name"]}"}}'
        (table,) = capdisc("call", "list_tables", arguments).json["tables"]
        assert (table["name"], table["row_count"]) == (database["name"], 2)
    schema = capdisc(
        "call", "get_table_schema", '{"database": "metrics", "table": "metrics"}'
    ).json
    assert [column["name"] for column in schema["columns"]] == ["code", "name"]
    # The folder that holds both is still one database.
    tables = capdisc("call", "list_tables", '{"database": "exports"}').json["tables"]
    assert [table["name"] for table in tables] == ["events", "metrics"]


@pytest.mark.parametrize(
    ("row", "name"), [("1", "Visits"), ("2", "Orders"), ('"B2"', "Orders"), ('"a1"', "Visits")]
)
def test_a_row_is_read_by_its_number_or_key(capdisc, exports, row, name) -> None:
    """`get_row_data` takes `row`, a number from 1 or the value of the key (S238)."""
    asked = capdisc("call", "get_row_data", f'{{"table_id": "metrics", "row": {row}}}')
    assert [found["name"] for found in asked.json["rows"]] == [name]


def test_a_row_that_is_not_stored_is_an_error(capdisc, exports) -> None:
    """The hint says how many rows there are (S238)."""
    asked = capdisc("call", "get_row_data", '{"table_id": "metrics", "row": 3}')
    assert (asked.code, asked.out) == (2, "")
    assert "rows are counted from 1; stored: 2" in asked.err
