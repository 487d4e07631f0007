"""The values that every reader of tables gives, whether it read a database, a file or SQL."""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.readers.yaml_nodes import Json


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
class ColumnValues:
    """Some values of one column, without repetition; `distinct` is how many there are in all
    (None: not counted). `complete` says that these are all of them, unchanged.
    """

    values: tuple[Json, ...]
    distinct: int | None = None
    complete: bool = False


@frozen(kw_only=True)
class Samples:
    """Some values of each column, by its name, and the first rows; `complete` says that these are
    all rows, unchanged.
    """

    columns: Mapping[str, ColumnValues] = field(default_factory=dict)
    rows: tuple[tuple[Json, ...], ...] = ()
    complete: bool = False


@frozen(kw_only=True)
class Table:
    """One table or view. `row_count` is None if the rows were not counted."""

    name: str
    columns: tuple[Column, ...]
    is_view: bool = False
    comment: str = ""
    row_count: int | None = None
    samples: Samples | None = None


@frozen(kw_only=True)
class ReaderNote:
    """A problem that a reader met, before it becomes a finding about the file; `severity` is
    error, warning or info.
    """

    severity: str
    code: str
    message: str
    hint: str = ""
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
    return Tables(
        kind=kind,
        notes=(ReaderNote(severity="error", code="unreadable-data", message=message, hint=hint),),
    )


def tables_from_json(value: JsonObject) -> Tables:
    """The tables that `asdict` turned into this JSON. Raises KeyError or TypeError for any
    other.
    """
    return Tables(
        kind=value["kind"],
        tables=tuple(_table(table) for table in value["tables"]),
        notes=tuple(ReaderNote(**note) for note in value["notes"]),
    )


def _table(value: JsonObject) -> Table:
    columns = tuple(Column(**column) for column in value["columns"])
    samples = _samples(value["samples"]) if value["samples"] else None
    return Table(**{**value, "columns": columns, "samples": samples})


def _samples(value: JsonObject) -> Samples:
    columns = {
        name: ColumnValues(**{**values, "values": tuple(values["values"])})
        for name, values in value["columns"].items()
    }
    return Samples(
        columns=columns, rows=tuple(map(tuple, value["rows"])), complete=value["complete"]
    )
