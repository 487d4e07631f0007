"""Tables of databases and files: the values that every reader gives, of which `table_capabilities`
makes capabilities; and how rows without a schema become such values, with types of columns from
the first rows, and samples of their values that are fit to be stored.

Samples are cut to size, fit for JSON, and without columns whose names show that they are private.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.source_format import MAX_SAMPLES
from capdisc_indexer.text.normalization import compile_late, strip_controls

MAX_CHARACTERS = 200  # of one value
_PRIVATE = compile_late(
    r"passw|pwd|secret(?!ar)|token|api_?key|private_?key|credential|salt\b|hash|ssn\b|social_?sec|iban|card_?n|cvv|cvc",
    re.IGNORECASE,
)
TYPED_ROWS = 1_000  # that types are inferred from
MAX_COLUMNS = 500
_MAX_DISTINCT = 10_000  # values of a column that are counted
_TEXT_TYPES = (
    ("integer", re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")),
    (
        "number",
        re.compile(r"[-+]?(?:0|[1-9]\d{0,30})?(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?<=\d)"),
    ),
    ("boolean", re.compile(r"true|false", re.IGNORECASE)),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[-+]\d\d:?\d\d)?")),
)


@frozen(kw_only=True)
class Column:
    """One column as its table declares it.

    `key` is its place in the primary key, from 1 (0: not in it), `default` the expression as
    written, `refers_to` the `table.column` that a foreign key leads to ("" for none).
    """

    name: str
    type: str = ""
    nullable: bool = True
    key: int = 0
    default: str | None = None
    refers_to: str = ""
    comment: str = ""


@frozen(kw_only=True)
class Table:
    """One table or view. `row_count` is None if the rows were not counted; `samples` are what
    `build_samples` gives, empty if none were asked for.
    """

    name: str
    columns: tuple[Column, ...]
    is_view: bool = False
    comment: str = ""
    row_count: int | None = None
    samples: Mapping[str, Json] = field(default_factory=dict)


@frozen
class ReaderNote:
    """A problem that a reader met, before it becomes a finding about the file; `severity` is
    error, warning or info.
    """

    code: str
    message: str
    hint: str = ""
    severity: str = "warning"
    line: int = 1


@frozen(kw_only=True)
class Tables:
    """The tables of one database or file, its `kind` (`sqlite`, `csv`), and notes on what could
    not be read.
    """

    kind: str
    tables: tuple[Table, ...] = ()
    notes: tuple[ReaderNote, ...] = ()


def failed_read(kind: str, message: str, hint: str) -> Tables:
    """No tables, and a note that says why."""
    return Tables(kind=kind, notes=(ReaderNote("unreadable-data", message, hint, "error"),))


def tables_from_json(value: JsonObject) -> Tables:
    """The tables that `asdict` turned into this JSON. Raises KeyError or TypeError for any
    other.
    """
    tables = (
        Table(**{**table, "columns": tuple(Column(**column) for column in table["columns"])})
        for table in value["tables"]
    )
    notes = tuple(ReaderNote(**note) for note in value["notes"])
    return Tables(kind=value["kind"], tables=tuple(tables), notes=notes)


class RowSampler:
    """Gathers a table from its rows: the first ones, their number, and some values of each
    column.
    """

    def __init__(self, sample_size: int) -> None:
        self._sample_size = min(sample_size, MAX_SAMPLES)
        self._first_rows: list[Sequence[Any]] = []
        self._distinct: list[dict[Any, None]] = []  # values of each column
        self.count = 0

    def add(self, row: Sequence[Any]) -> None:
        """Adds one row."""
        self.count += 1
        if self.count <= max(TYPED_ROWS, self._sample_size):
            self._first_rows.append(row)
        if self._sample_size:
            self._add_values(row)

    def table(self, name: str, names: Sequence[str], complete: bool = True) -> Table:
        """The table of these columns; if not `complete`, its number of rows is unknown."""
        typed_rows = self._first_rows[:TYPED_ROWS]
        columns = []
        for place, column in enumerate(unique_names(names)[:MAX_COLUMNS]):
            values = [row[place] if place < len(row) else None for row in typed_rows]
            columns.append(_infer_column(column, values))
        return Table(
            name=name,
            columns=tuple(columns),
            row_count=self.count if complete else None,
            samples=self._samples(columns, complete),
        )

    def _add_values(self, row: Sequence[Any]) -> None:
        self._distinct += [{} for _ in range(len(row) - len(self._distinct))][:MAX_COLUMNS]
        for values, value in zip(self._distinct, row, strict=False):
            if value not in (None, "") and len(values) <= _MAX_DISTINCT:
                values.setdefault(
                    json_value(value) if isinstance(value, str) else _hashable(value)
                )

    def _samples(self, columns: Sequence[Column], complete: bool) -> dict[str, Json]:
        if not self._sample_size:
            return {}
        by_column = {}
        for column, values in zip(columns, self._distinct, strict=False):
            is_counted = complete and len(values) <= _MAX_DISTINCT
            sample = list(values)[: self._sample_size]
            by_column[column.name] = (
                [_convert_value(value, column.type) for value in sample],
                len(values) if is_counted else None,
            )
        rows = [
            [
                _convert_value(value, column.type)
                for value, column in zip(row, columns, strict=False)
            ]
            for row in self._first_rows[: self._sample_size]
        ]
        names = [column.name for column in columns]
        return build_samples(names, by_column, rows, self.count if complete else None)


def _hashable(value: Any) -> Any:
    """The value, or the text of a list or an object."""
    import json

    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)[:1_000]
    return value


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, with numbers for repeated and empty ones.

    >>> unique_names(["a", "", "a"])
    ['a', 'column2', 'a_2']
    """
    unique: dict[str, None] = {}
    for place, declared_name in enumerate(names, 1):
        name, number = declared_name or f"column{place}", 2
        while name in unique:
            name, number = f"{declared_name or 'column'}_{number}", number + 1
        unique[name] = None
    return list(unique)


def _infer_column(name: str, values: Sequence[Any]) -> Column:
    present = [value for value in values if value not in (None, "")]
    return Column(name=name, type=_infer_type(present), nullable=len(present) < len(values))


def _infer_type(values: Sequence[Any]) -> str:
    """One word for all values: their JSON types, or for texts the type that all of them look
    like.
    """
    if not all(isinstance(value, str) for value in values):
        kinds = dict.fromkeys(map(_json_type, values))
        return "number" if set(kinds) == {"integer", "number"} else "|".join(kinds)
    for name, pattern in _TEXT_TYPES:
        if values and all(pattern.fullmatch(value) for value in values):
            return name
    return "text"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((int, "integer"), (float, "number"), (str, "text"), (list, "array"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "object")


def _convert_value(value: Any, kind: str) -> Any:
    """The value of a text in a column of this type; other values as `_hashable` gives them."""
    if not isinstance(value, str):
        return _hashable(value)
    if value == "":
        return None
    if kind == "boolean":
        return value.lower() == "true"
    try:
        return int(value) if kind == "integer" else float(value) if kind == "number" else value
    except ValueError:
        return value


def is_private(column: str) -> bool:
    """Whether the name of a column shows that its values are private.

    >>> is_private("PasswordHash"), is_private("api_key"), is_private("passenger"), is_private("Name")
    (True, True, False, False)
    """
    return bool(_PRIVATE.search(column))


def build_samples(
    names: Sequence[str],
    columns: Mapping[str, tuple[Sequence[Any], int | None]],
    rows: Sequence[Sequence[Any]],
    row_count: int | None,
) -> dict[str, Json]:
    """The samples of a table from raw values, as its capability keeps them: some values of each
    column without repetition, the number of its `distinct` ones (None: not counted), and the first
    rows. `complete` says that these are all values of the column, or all rows, unchanged.

    `columns` has the values of each column with the number of its distinct values. Private columns
    are left out; in rows their values are null, and the rows are not complete.
    """
    samples: dict[str, Json] = {
        name: _column_samples(*columns[name])
        for name in names
        if name in columns and not is_private(name)
    }
    private = [is_private(name) for name in names]
    sample_rows: list[Json] = [
        [
            None if is_hidden else json_value(value)
            for value, is_hidden in zip(row, private, strict=False)
        ]
        for row in rows
    ]
    has_all_rows = row_count == len(rows) and not any(private)
    is_complete = has_all_rows and all(map(_is_unchanged, rows))
    return {"samples": samples, "rows": sample_rows, "complete": is_complete}


def _column_samples(raw: Sequence[Any], distinct: int | None) -> dict[str, Json]:
    values: list[Json] = [*dict.fromkeys(json_value(value) for value in raw if value is not None)]
    is_complete = _is_unchanged(raw) and distinct == len(values)
    return {"values": values, "distinct": distinct, "complete": is_complete}


def _is_unchanged(raw: Sequence[Any]) -> bool:
    return all(json_value(value) == value for value in raw)


def json_value(value: Any) -> Any:
    """The value in JSON: long texts are cut, bytes become their length, and other types their text.

    >>> json_value(b"1234"), json_value(1.5), json_value("x" * 300)[-2:]
    ('<4 bytes>', 1.5, 'x…')
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)[:MAX_CHARACTERS]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value):,} bytes>"
    text = strip_controls(str(value))
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"
