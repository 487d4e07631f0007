"""What the columns of rows without a schema hold: their types by the first rows, their values as
far as asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.sources.formats.tables.table_types import Column, ColumnValues, Samples, Table
from capdisc_indexer.text.normalization import strip_controls

# Samples as they may be stored: cut to size, fit for JSON, without the columns whose name says
# secret.

MAX_SAMPLES = 1_000
MAX_CHARACTERS = 200  # of one value
_PRIVATE = re.compile(
    r"passw|pwd|secret(?!ar)|token|api_?key|private_?key|credential|salt\b|hash|ssn\b|social_?sec|iban|card_?n|cvv|cvc",
    re.IGNORECASE,
)


def is_private(column: str) -> bool:
    """Whether the name of a column says that its values are nobody's business.

    >>> is_private("PasswordHash"), is_private("api_key"), is_private("passenger"), is_private("Name")
    (True, True, False, False)
    """
    return bool(_PRIVATE.search(column))


def build_samples(
    names: Sequence[str],
    columns: Mapping[str, tuple[Sequence[Any], int | None]],
    rows: Sequence[Sequence[Any]],
    row_count: int | None,
) -> Samples:
    """The samples of a table from raw values; each column comes with how many distinct values it
    has.

    In rows, what is left out is null, and then they are not complete.
    """
    shown = {
        name: _values(*columns[name]) for name in names if name in columns and not is_private(name)
    }
    hidden = [is_private(name) for name in names]
    samples = tuple(
        tuple(None if out else json_value(value) for value, out in zip(row, hidden, strict=False))
        for row in rows
    )
    is_complete = row_count == len(rows) and not any(hidden)
    same = all(json_value(value) == value for row in rows for value in row)
    return Samples(columns=shown, rows=samples, complete=is_complete and same)


def _values(raw: Sequence[Any], distinct: int | None) -> ColumnValues:
    values = tuple(dict.fromkeys(json_value(value) for value in raw if value is not None))
    same = all(json_value(value) == value for value in raw)
    return ColumnValues(values=values, distinct=distinct, complete=same and distinct == len(values))


def json_value(value: Any) -> Any:
    """The value as JSON has it: long texts are cut, bytes become a word, and what has no place in
    JSON its text.

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


LOOKED_AT = 1_000  # rows that types come from
MAX_COLUMNS = 500
_MAX_DISTINCT = 10_000  # values of a column that are told apart
_TEXTS = (
    ("integer", re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")),
    ("number", re.compile(r"[-+]?(?:0|[1-9]\d{0,30})?(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?<=\d)")),
    ("boolean", re.compile(r"true|false", re.IGNORECASE)),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("timestamp", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[-+]\d\d:?\d\d)?")),
)


class RowSampler:
    """The rows of one table as they go by: the first ones, how many there are, and some values of
    each column.
    """

    def __init__(self, samples: int) -> None:
        self._wanted = min(samples, MAX_SAMPLES)
        self._first: list[Sequence[Any]] = []
        self._seen: list[dict[Any, None]] = []
        self.count = 0

    def add(self, row: Sequence[Any]) -> None:
        """Looks at one more row."""
        self.count += 1
        if self.count <= max(LOOKED_AT, self._wanted):
            self._first.append(row)
        if self._wanted:
            self._note(row)

    def table(self, name: str, names: Sequence[str], complete: bool = True) -> Table:
        """The table of these columns; when not `complete`, nobody knows how many rows there
        are.
        """
        names = unique_names(names)[:MAX_COLUMNS]
        columns = tuple(_column(column, [row[n] if n < len(row) else None for row in self._first[:LOOKED_AT]])
                        for n, column in enumerate(names))  # fmt: skip
        count = self.count if complete else None
        return Table(
            name=name, columns=columns, row_count=count, samples=self._samples(columns, complete)
        )

    def _note(self, row: Sequence[Any]) -> None:
        self._seen += [{} for _ in range(len(row) - len(self._seen))][:MAX_COLUMNS]
        for values, value in zip(self._seen, row, strict=False):
            if value not in (None, "") and len(values) <= _MAX_DISTINCT:
                values.setdefault(json_value(value) if isinstance(value, str) else repr_of(value))

    def _samples(self, columns: Sequence[Column], complete: bool) -> Samples | None:
        if not self._wanted:
            return None
        typed = {}
        for column, values in zip(columns, self._seen, strict=False):
            distinct_count = len(values) if complete and len(values) <= _MAX_DISTINCT else None
            typed[column.name] = (
                [_convert_value(value, column.type) for value in list(values)[: self._wanted]],
                distinct_count,
            )
        rows = [
            [
                _convert_value(value, column.type)
                for value, column in zip(row, columns, strict=False)
            ]
            for row in self._first[: self._wanted]
        ]
        return build_samples(
            [column.name for column in columns], typed, rows, self.count if complete else None
        )


def repr_of(value: Any) -> Any:
    """What tells a value from others: itself, or its text where it is a list or an object."""
    import json

    return (
        json.dumps(value, ensure_ascii=False)[:1_000] if isinstance(value, dict | list) else value
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """The names, numbered where one comes again or is empty.

    >>> unique(["a", "", "a"])
    ['a', 'column2', 'a_2']
    """
    names_seen: dict[str, None] = {}
    for place, declared_name in enumerate(names, 1):
        name, number = declared_name or f"column{place}", 2
        while name in names_seen:
            name, number = f"{declared_name or 'column'}_{number}", number + 1
        names_seen[name] = None
    return list(names_seen)


def _column(name: str, values: Sequence[Any]) -> Column:
    there = [value for value in values if value not in (None, "")]
    return Column(name=name, type=_type(there), nullable=len(there) < len(values))


def _type(values: Sequence[Any]) -> str:
    """One word for all values: of JSON where they have a type, else what all texts look like."""
    if not all(isinstance(value, str) for value in values):
        kinds = dict.fromkeys(map(_json_type, values))
        return "number" if set(kinds) == {"integer", "number"} else "|".join(kinds)
    for name, pattern in _TEXTS:
        if values and all(pattern.fullmatch(value) for value in values):
            return name
    return "text"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = ((int, "integer"), (float, "number"), (str, "text"), (list, "array"))
    return next((word for kind, word in kinds if isinstance(value, kind)), "object")


def _convert_value(value: Any, kind: str) -> Any:
    """A text as the value that its column's type makes of it."""
    if not isinstance(value, str):
        return repr_of(value)
    if value == "":
        return None
    if kind == "boolean":
        return value.lower() == "true"
    try:
        return int(value) if kind == "integer" else float(value) if kind == "number" else value
    except ValueError:
        return value
