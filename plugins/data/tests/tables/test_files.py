"""Files that are one table: CSV, JSON, Parquet and Arrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capdisc_data import columnar, text_tables
from capdisc_indexer.model.types import LoadedFile
from found_files import found

ROWS = "id;name;price;made;sold\n1;Apple, red;1.5;2024-01-02;true\n2;Pear;2;2024-01-03;false\n\n3;;;;\n"


@pytest.fixture
def put(tmp_path: Path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / "shop" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def load(path: Path, **changes: Any) -> LoadedFile:
    loaders = {".csv": text_tables.load_delimited, ".parquet": columnar.load}
    loaders |= {".json": text_tables.load_json, ".jsonl": text_tables.load_json}
    load = loaders.get(path.suffix, columnar.load)
    return load(found(path, "table", **changes), path.read_bytes())


def table(path: Path, **changes: Any) -> dict[str, Any]:
    (descriptor,) = load(path, **changes).descriptors
    return dict(descriptor.extra)


def types(extra: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["type"] for each in extra["columns"]}


def codes(loaded: LoadedFile) -> list[str]:
    return [finding.code for finding in loaded.findings]


def test_a_csv_file_is_a_table_of_its_folder(put) -> None:
    """A CSV file belongs to its folder unless the declaration names one (S26)."""
    path = put("fruit.csv", ROWS)
    assert [each.id for each in load(path).descriptors] == ["table:shop.fruit"]
    assert [each.id for each in load(path, name="market").descriptors] == ["table:market.fruit"]


def test_types_and_row_counts_of_csv_come_from_its_rows(put) -> None:
    """Types, nullability and the row count of a CSV table come from its rows (S18, S19, S20)."""
    extra = table(put("fruit.csv", ROWS))
    assert types(extra) == {
        "id": "integer",
        "name": "text",
        "price": "number",
        "made": "date",
        "sold": "boolean",
    }
    assert [each["nullable"] for each in extra["columns"]] == [False, True, True, True, True]
    assert (extra["dbType"], extra["row_count"], "samples" in extra) == ("csv", 3, False)


def test_samples_of_csv_are_typed(put) -> None:
    """Samples of a CSV table are typed and say whether they are complete (S23, S224)."""
    extra = table(put("fruit.csv", ROWS), options={"samples": 2})
    assert extra["rows"] == [
        [1, "Apple, red", 1.5, "2024-01-02", True],
        [2, "Pear", 2.0, "2024-01-03", False],
    ]
    assert extra["samples"]["name"] == {
        "values": ["Apple, red", "Pear"],
        "distinct": 2,
        "complete": True,
    }
    assert extra["samples"]["id"] == {"values": [1, 2], "distinct": 3, "complete": False}


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_from_the_first_lines(put, sign: str) -> None:
    path = put("a.csv", f'name{sign}note\nx{sign}"one, two; three | four"\ny{sign}z\n')
    assert list(types(table(path))) == ["name", "note"]


def test_a_line_break_inside_quotes_is_no_row(put) -> None:
    assert table(put("a.csv", 'a,b\n1,"x\ny"\n2,z\n'))["row_count"] == 2


def test_line_separators_of_unicode_end_no_row(put) -> None:
    assert table(put("a.csv", "a,b\n1,x\u2028y\n2,z\x0bz\n"))["row_count"] == 2


def test_a_file_without_header_has_numbered_columns(put) -> None:
    loaded = load(put("a.csv", "1,Ann\n2,Bob\n"))
    extra = loaded.descriptors[0].extra
    assert (list(types(dict(extra))), extra["row_count"], codes(loaded)) == (
        ["column1", "column2"],
        2,
        ["table-header"],
    )


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "unreadable-data"), (b"a,b\n\xff\xfe\xfd,1\n", "unreadable-data"), ("a,b\n".encode("utf-16"), "encoding"),
     (b"a,b\n" + b"x" * 200_000, "unreadable-data")],
)  # fmt: skip
def test_a_file_that_is_no_csv_is_a_finding(put, content: bytes, code: str) -> None:
    loaded = load(put("a.csv", content))
    assert (loaded.descriptors, codes(loaded)) == ((), [code])


def test_a_json_array_of_objects_is_a_table(put) -> None:
    """A JSON array of objects is a table (S26)."""
    rows = [{"id": 1, "name": "Ann", "tags": ["x"]}, {"id": 2.5, "name": None, "more": {"a": 1}}]
    extra = table(put("people.json", json.dumps(rows)), options={"samples": 5})
    assert types(extra) == {"id": "number", "name": "text", "tags": "array", "more": "object"}
    assert (extra["row_count"], extra["complete"]) == (2, True)
    assert extra["rows"][0] == [1, "Ann", '["x"]', None]


def test_json_lines_lose_only_the_lines_that_are_wrong(put) -> None:
    """Broken lines of a JSON lines file are reported, and the others are kept (S26)."""
    loaded = load(put("people.jsonl", '{"id": 1}\nnonsense\n[3]\n{"id": 2}\n'))
    assert loaded.descriptors[0].extra["row_count"] == 2
    assert [(finding.code, finding.line) for finding in loaded.findings] == [
        ("json-syntax", 2),
        ("table-row", 3),
    ]


@pytest.mark.parametrize("text", ["[]", "3", '{"a": [1]}', "[1, 2]"])
def test_json_without_objects_is_a_finding(put, text: str) -> None:
    loaded = load(put("a.json", text))
    assert loaded.descriptors == ()
    assert loaded.findings[-1].code in {"unreadable-data", "table-row"}


def test_parquet_and_arrow_say_schema_and_row_count(put) -> None:
    """Parquet and Arrow are read by a process of their own (S26)."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    rows = pa.table({"id": [1, 2, 3], "name": ["Ann", "Bob", None], "tags": [["x"], [], None]})
    parquet, feather = put("a.parquet", b""), put("b.feather", b"")
    pyarrow.parquet.write_table(rows, parquet)
    pyarrow.feather.write_feather(rows, str(feather))
    for path, kind in ((parquet, "parquet"), (feather, "arrow")):
        extra = table(path, options={"samples": 2})
        assert (extra["dbType"], extra["row_count"]) == (kind, 3)
        assert types(extra)["name"] == "string"
        assert extra["rows"] == [[1, "Ann", "['x']"], [2, "Bob", "[]"]]
        assert extra["samples"]["id"] == {"values": [1, 2], "distinct": None, "complete": False}


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_damaged_columnar_file_is_a_finding(put, name: str) -> None:
    loaded = load(put(name, b"PAR1" + b"x" * 40 + b"PAR1"))
    assert (loaded.descriptors, codes(loaded)) == ((), ["unreadable-data"])


def test_a_table_looks_the_same_whatever_file_it_came_from(put) -> None:
    assert table(put("a.csv", "a,b\n1,2\n")).keys() == table(put("b.json", '[{"a": 1}]')).keys()
