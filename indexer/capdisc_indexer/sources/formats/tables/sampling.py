"""Samples as they may be stored: cut to size, fit for JSON, without the columns whose name says
secret.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.sources.formats.tables.table_types import ColumnValues, Samples
from capdisc_indexer.text.normalization import strip_controls

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
