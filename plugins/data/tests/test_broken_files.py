"""Files of data that are broken or hostile cost themselves, and say why."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capdisc_data import ddl
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.format_table import SOURCES
from case_rows import read_rows
from found_files import found

Load = Callable[..., LoadedFile]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def write_and_load(format: str, name: str, data: str | bytes, **options: Any) -> LoadedFile:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return SOURCES[format].load(found(path, format, options=options), path.read_bytes())

    return write_and_load


@pytest.mark.parametrize(
    ("format", "name", "data", "code", "message"),
    [
        *read_rows(__file__, "broken"),
        ("csv", "a.csv", b"", "unreadable-data", "holds no rows"),
        ("csv", "a.csv", b"a,b\n\xff\xfe\xfd,1\n", "unreadable-data", "not UTF-8"),
        ("csv", "a.csv", "a,b\n".encode("utf-16"), "encoding", "UTF-16"),
        ("csv", "a.csv", b"a,b\n" + b"x" * 200_000, "unreadable-data", "comma-separated"),
        ("columnar", "a.parquet", b"PAR1" + b"x" * 40 + b"PAR1", "unreadable-data", "as Parquet"),
        ("columnar", "a.arrow", b"PAR1" + b"x" * 40 + b"PAR1", "unreadable-data", "as Arrow"),
        ("graphql", "a.graphql", "type Query { a: " + "[" * 20_000, "graphql-schema", "too deep"),
        ("python", "a.py", "x = " + "(" * 5_000, "python-syntax", ""),
        ("python", "a.py", "-" * 100_000 + "1", "python-syntax", ""),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error(
    load: Load, format: str, name: str, data: str | bytes, code: str, message: str
) -> None:
    loaded = load(format, name, data)
    (finding,) = loaded.findings
    assert (loaded.descriptors, finding.code, finding.severity) == ((), code, "error")
    assert message in finding.message


def test_the_answer_to_an_introspection_query_is_a_schema(load: Load) -> None:
    graphql = pytest.importorskip("graphql")
    schema = graphql.build_schema('type Query { "Says hello." hello(name: String!): String }')
    answer = json.dumps({"data": graphql.introspection_from_schema(schema)})
    loaded = load("graphql", "greeter.json", answer)
    assert [each.id for each in loaded.descriptors] == ["api:greeter", "operation:greeter.hello"]
    assert loaded.descriptors[1].description == "Says hello."


def test_parquet_and_arrow_say_schema_and_row_count(load: Load) -> None:
    """Parquet and Arrow are read by a process of their own (S26)."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rows = pa.table({"id": [1, 2, 3], "name": ["Ann", "Bob", None], "tags": [["x"], [], None]})
    for kind, name, write in (
        ("parquet", "a.parquet", pyarrow.parquet.write_table),
        ("arrow", "b.feather", pyarrow.feather.write_feather),
    ):
        stream = io.BytesIO()
        write(rows, stream)
        (table,) = load("columnar", name, stream.getvalue(), samples=2).descriptors
        extra = table.extra
        assert (extra["dbType"], extra["row_count"], extra["columns"][1]["type"]) == (
            kind, 3, "string",
        )  # fmt: skip
        assert extra["rows"] == [[1, "Ann", "['x']"], [2, "Bob", "[]"]]
        assert extra["samples"]["id"] == {"values": [1, 2], "distinct": None, "complete": False}


@pytest.mark.parametrize("text", read_rows(__file__, "repeated"))
def test_endless_repetition_is_read_to_its_end(text: str) -> None:
    """Reading that tried each place again would take hours for this."""
    names = [table.name for table in ddl.read_ddl(text * 20_000).tables]
    assert names == (["t"] if text.startswith("CREATE TABLE t") else [])


_WORDS = """CREATE TABLE IF NOT EXISTS [Track] `order items` ( TrackId INTEGER PRIMARY KEY AUTOINCREMENT, -- as
    /* how */ REFERENCES Artist ON DELETE SET NULL DEFAULT (1 + 2) CHECK price enum('a','b,)') COMMENT 'it\\'s'
    CONSTRAINT FOREIGN KEY ALTER VIEW AS SELECT FROM MAP<STRING, > ) ; ' " $$ ENGINE=InnoDB INSERT INTO VALUES"""


@given(st.lists(st.sampled_from([*_WORDS.split(), "\n"]), max_size=60))
@settings(max_examples=150, deadline=None)
def test_whatever_words_come_nothing_is_raised(words: list[str]) -> None:
    for table in ddl.read_ddl(" ".join(words)).tables:
        assert table.name
