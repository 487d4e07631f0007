"""What was sampled of a table when the index was made. Nothing is read from the data itself when a tool answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.arguments.naming import suggestion
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.text import one_line
from capdisc_indexer.tools.held import cell, number
from capdisc_indexer.tools.tables import Table, row_of

NO_SAMPLES = "no samples stored"
_HOW = "declare the file as a [[source]] with samples = 20 in capdisc.toml, then run: capdisc index"


def values_of(table: Table, column: str, limit: int) -> dict[str, Any]:
    """Values of a column, how many different ones there are in all (null: not known), and whether these are all.
    Raises InputError where nothing was sampled, UsageError where there is no such column."""
    known = {name.lower(): name for name in table.column_names}
    own = known.get(column.lower())
    if own is None:
        what = f"{one_line(table.name, 80)} has no column {one_line(column, 80)!r}"
        raise UsageError(
            what, suggestion(column, known.values()).strip("; ") or f"it has: {', '.join(table.column_names[:20])}"
        )
    values, distinct, is_complete = _sampled(table, own)
    if not values:
        raise InputError(f"{NO_SAMPLES} of {one_line(table.name, 80)}.{own}", _HOW)
    shown = values[:limit]
    return {
        "column": own,
        "values": shown,
        "total_distinct": distinct,
        "is_complete": is_complete and len(shown) == len(values),
    }


def _sampled(table: Table, column: str) -> tuple[list[Any], int | None, bool]:
    sample = table.samples.get(column)
    if isinstance(sample, Mapping) and isinstance(sample.get("values"), (list, tuple)):
        return [cell(value) for value in sample["values"]], number(sample, "distinct"), sample.get("complete") is True
    place = table.column_names.index(column)
    held = [cell(row[place]) for row in table.rows if len(row) > place and row[place] is not None]
    values = list(dict.fromkeys(held))
    return values, len(values) if table.is_complete else None, table.is_complete


def samples_of(table: Table, limit: int) -> dict[str, list[Any]]:
    """A few values of each column that has any."""
    found = {column: _sampled(table, column)[0][:limit] for column in table.column_names}
    return {column: values for column, values in found.items() if values}


def rows_like(table: Table, criteria: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sampled rows whose columns hold what the criteria say; texts are compared without regard to case. Raises
    InputError where no row was sampled, UsageError for a column that is none."""
    if not table.rows:
        raise InputError(f"{NO_SAMPLES} of {one_line(table.name, 80)}", _HOW)
    known = {name.lower(): name for name in table.column_names}
    if wrong := [name for name in criteria if name.lower() not in known]:
        what = f"{one_line(table.name, 80)} has no column {one_line(wrong[0], 80)!r}"
        raise UsageError(what, f"it has: {', '.join(table.column_names[:20])}")
    wanted = {known[name.lower()]: value for name, value in criteria.items()}
    rows = [row_of(table, row) for row in table.rows]
    return [row for row in rows if all(_same(row.get(name), value) for name, value in wanted.items())]


def _same(found: Any, wanted: Any) -> bool:
    return found == wanted or (wanted is not None and found is not None and str(found).lower() == str(wanted).lower())
