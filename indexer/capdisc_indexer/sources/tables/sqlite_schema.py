"""The schema of an open SQLite database, as its own pragmas give it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources.tables.ddl import comments
from capdisc_indexer.sources.tables.sampling import MAX_SAMPLES, sampled
from capdisc_indexer.sources.tables.values import Column, Note, Samples, Table

MAX_TABLES = 1_000
MAX_COLUMNS = 500
_VIRTUAL = re.compile(r"\s*create\s+virtual\s+table\b", re.IGNORECASE)
_OWN = ("sqlite_", "_litestream_")


@dataclass(slots=True)
class Reading:
    """An open database and what could not be had of it. Once `is_late`, nothing is counted any more."""

    connection: sqlite3.Connection
    notes: list[Note] = field(default_factory=list)
    is_late: bool = False

    def note(self, code: str, message: str, hint: str = "", severity: str = "warning") -> None:
        """Keeps something to say about the file."""
        self.notes.append(Note(severity=severity, code=code, message=message, hint=hint))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows that the statement gives."""
        return self.connection.execute(statement).fetchall()

    def patiently(self, statement: str) -> list[tuple[Any, ...]] | None:
        """The same, or None when there is no time left for it, which is noted once."""
        if self.is_late:
            return None
        try:
            return self.rows(statement)
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            self.is_late = True
            message = "too large to count every table in ten seconds; those left have no row count and no samples"
            self.note("table-uncounted", message, "declare it with fewer samples, or with none")
            return None


def read_tables(reading: Reading, samples: int) -> tuple[Table, ...]:
    """Tables and views by name, without the library's own, virtual ones and what lies behind those."""
    listed = [row for row in reading.rows(_LISTED) if not str(row[1]).startswith(_OWN)]
    virtual = {str(name) for _, name, sql in listed if _VIRTUAL.match(str(sql or ""))}
    plain = [row for row in listed if row[1] not in virtual and not _is_shadow(str(row[1]), virtual)]
    if virtual:
        message = f"virtual tables are not read, since that runs their code: {', '.join(sorted(virtual)[:5])}"
        reading.note("table-skipped", message[:300], severity="info")
    if len(plain) > MAX_TABLES:
        message = f"{len(plain) - MAX_TABLES:,} of {len(plain):,} tables are left out"
        reading.note("table-skipped", message, "split the database")
    found = [table for kind, name, sql in plain[:MAX_TABLES] if (table := _table(reading, str(kind), str(name), sql))]
    keys = {table.name.lower(): _primary(table) for table in found}
    found = [_resolved(reading, table, keys) for table in found]
    return tuple(_filled(reading, table, samples) for table in found)


_LISTED = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"


def _is_shadow(name: str, virtual: set[str]) -> bool:
    return any(name.startswith(f"{owner}_") for owner in virtual)


def _table(reading: Reading, kind: str, name: str, sql: str | None) -> Table | None:
    try:
        rows = reading.rows(f"PRAGMA table_info({quoted(name)})")
    except sqlite3.Error as error:
        # A view over something that is gone; the others are fine.
        reading.note("table-skipped", f"{name[:64]} cannot be described: {str(error)[:160]}", "mend or drop it")
        return None
    said, of_columns = comments(sql or "")
    columns = tuple(
        Column(
            name=str(name),
            type=str(declared or ""),
            nullable=not notnull,
            default=None if default is None else str(default)[:2_000],
            key=int(key),
            comment=of_columns.get(str(name).lower(), ""),
        )
        for _, name, declared, notnull, default, key in rows[:MAX_COLUMNS]
    )
    return Table(name=name, columns=columns, is_view=kind == "view", comment=said)


def _primary(table: Table) -> list[str]:
    return [column.name for column in sorted(table.columns, key=lambda each: each.key) if column.key]


def _resolved(reading: Reading, table: Table, keys: dict[str, list[str]]) -> Table:
    """The table with its foreign keys; one that names no column leads to the primary key."""
    if table.is_view:
        return table
    targets = dict(_foreign_keys(reading, table, keys))
    columns = tuple(replace(each, refers_to=targets.get(each.name.lower(), "")) for each in table.columns)
    return replace(table, columns=columns)


def _foreign_keys(reading: Reading, table: Table, keys: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    for row in reading.rows(f"PRAGMA foreign_key_list({quoted(table.name)})"):
        place, target, own, other = int(row[1]), str(row[2]), str(row[3]), row[4]
        primary = keys.get(target.lower(), [])
        column = str(other) if other is not None else primary[place] if place < len(primary) else ""
        yield own.lower(), f"{target}.{column}"


def _filled(reading: Reading, table: Table, samples: int) -> Table:
    """The table with its row count and samples, as far as there is time."""
    if table.is_view:
        return table
    counted = reading.patiently(f"SELECT count(*) FROM {quoted(table.name)}")
    table = replace(table, row_count=counted[0][0] if counted else None)
    return replace(table, samples=_samples(reading, table, min(samples, MAX_SAMPLES))) if samples > 0 else table


def _samples(reading: Reading, table: Table, count: int) -> Samples | None:
    names = [column.name for column in table.columns]
    chosen = ", ".join(map(quoted, names))
    rows = reading.patiently(f"SELECT {chosen} FROM {quoted(table.name)} LIMIT {count}") if names else None
    if rows is None:
        return None
    columns = {}
    for name in names:
        what = quoted(name)
        where = f"FROM {quoted(table.name)} WHERE {what} IS NOT NULL"
        values = reading.patiently(f"SELECT DISTINCT {what} {where} LIMIT {count}")
        distinct = reading.patiently(f"SELECT count(DISTINCT {what}) {where}")
        if values is not None:
            columns[name] = ([value for (value,) in values], distinct[0][0] if distinct else None)
    return sampled(names, columns, rows, table.row_count)


def quoted(name: str) -> str:
    """The name as SQL has it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'
