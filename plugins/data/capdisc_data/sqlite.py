"""SQLite files as databases: tables, columns and foreign keys, read by the SQLite library with
everything else forbidden.

The file is opened as immutable, so that no journal is made or read. Nothing in the file is run:
views are listed by their columns, virtual tables not at all, and only real tables are counted and
sampled. It happens in a process of its own, since views can be nested so that merely naming their
columns takes for ever.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from capdisc_data.ddl import column_comments
from capdisc_data.table_capabilities import build_table_capabilities
from capdisc_data.tables import (
    Column,
    ReaderNote,
    Table,
    Tables,
    build_samples,
    failed_read,
    tables_from_json,
)
from capdisc_indexer.model.frozen import asdict, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.naming_rules import name_of
from capdisc_indexer.sources.formats.parsed_capability import sample_count
from capdisc_indexer.sources.readers.reader_subprocess import (
    ReaderProcessError,
    read_in_subprocess,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    held_by_tables,
    secret_file,
    unreadable_finding,
)
from capdisc_indexer.sources.source_format import MAX_SAMPLES

MAX_TABLES = 1_000
MAX_COLUMNS = 500
READ_TIMEOUT_S = 30  # for all of it
MAX_SECONDS = 10.0  # for counting and samples; the schema itself is there at once
_STEPS = 2_000  # of the virtual machine, between two looks at the clock
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 8 * 1024 * 1024,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1024 * 1024,
    sqlite3.SQLITE_LIMIT_COLUMN: MAX_COLUMNS,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_CHECK_HINT = "see: sqlite3 FILE 'PRAGMA integrity_check'"
_ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_PRAGMAS = {"table_info", "foreign_key_list"}
_VIRTUAL = re.compile(r"\s*create\s+virtual\s+table\b", re.IGNORECASE)
# Tables of SQLite itself, and of a program that replicates it.
_INTERNAL_PREFIXES = ("sqlite_", "_litestream_")
_LIST_TABLES = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
)

Row: TypeAlias = tuple[Any, ...]


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The database and its tables. The bytes are not needed: the process that reads the file
    opens it, and it may be larger than memory.
    """
    request: dict[str, Json] = {
        "path": file.resolved,
        "inode": file.inode,
        "samples": sample_count(file),
    }
    try:
        tables = tables_from_json(read_in_subprocess(__name__, request, seconds=READ_TIMEOUT_S))
    except ReaderProcessError as error:
        tables = failed_read("sqlite", str(error), _CHECK_HINT)
    columns = ((table.name, [column.name for column in table.columns]) for table in tables.tables)
    if not file.allows_secrets and (holds := held_by_tables(columns)):
        return LoadedFile(findings=(secret_file(file.path, holds),))
    return build_table_capabilities(file, name_of(file), tables)


def read_request(request: JsonObject, data: bytes) -> JsonObject:
    """`Tables` as JSON: the answer of the process that reads the file."""
    return asdict(read_database(request["path"], request["inode"], request["samples"]))


def read_database(path: str, inode: int, sample_size: int = 0) -> Tables:
    """The tables with `sample_size` samples each; none and the reason if the file is not a
    database.
    """
    try:
        with _open_database(path, inode) as connection:
            database = DatabaseReader(connection)
            tables = read_tables(database, sample_size)
            notes = (*database.notes, *_pending_changes(path))
            return Tables(kind="sqlite", tables=tables, notes=notes)
    except OSError as error:
        problem = unreadable_finding(path, error)
        note = ReaderNote(problem.code, problem.message, problem.hint, problem.severity)
        return Tables(kind="sqlite", notes=(note,))
    except (sqlite3.Error, ValueError) as error:
        return _broken_database(error)


@contextmanager
def _open_database(path: str, inode: int) -> Iterator[sqlite3.Connection]:
    """A connection that can only read. Raises OSError if the file is not the one that the scan
    saw.
    """
    _check_identity(path, inode)
    uri = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        _check_identity(path, inode)
        connection.text_factory = _decode_text
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for name, setting in (
            ("trusted_schema", "OFF"),
            ("query_only", "ON"),
            ("cell_size_check", "ON"),
        ):
            connection.execute(f"PRAGMA {name} = {setting}")
        # Reads the whole schema; after it the authorizer is asked about our own statements only.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.set_authorizer(_authorize)
        deadline = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        yield connection


def _check_identity(path: str, inode: int) -> None:
    """Raises FileNotFoundError if the path no longer leads to the file that the scan saw.

    The library opens by name and follows links, so this is checked before and after opening.
    """
    if system.realpath(path) != path or os.lstat(path).st_ino != inode:
        raise FileNotFoundError


def _authorize(
    action: int,
    first_argument: str | None,
    second_argument: str | None,
    database: str | None,
    trigger: str | None,
) -> int:
    is_count = action == sqlite3.SQLITE_FUNCTION and second_argument == "count"
    is_schema = action == sqlite3.SQLITE_PRAGMA and first_argument in _PRAGMAS
    is_allowed = is_count or is_schema or action in _ALLOWED_ACTIONS
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _pending_changes(path: str) -> Iterator[ReaderNote]:
    try:
        is_pending = os.lstat(f"{path}-wal").st_size > 0
    except OSError:
        return
    if is_pending:
        message = "changes that are still in the write-ahead log beside it are not seen"
        yield ReaderNote("data-pending", message, "close the database, and index again", "info")


def _broken_database(error: Exception) -> Tables:
    reason = (str(error).splitlines() or ["unknown reason"])[0][:200]
    return failed_read("sqlite", f"cannot be read as a SQLite database: {reason}", _CHECK_HINT)


@dataclass(slots=True)
class DatabaseReader:
    """An open database, and notes on what could not be read of it. Once `is_late`, nothing more
    is counted.
    """

    connection: sqlite3.Connection
    notes: list[ReaderNote] = field(default_factory=list)
    is_late: bool = False

    def note(self, code: str, message: str, hint: str = "", severity: str = "warning") -> None:
        """Adds a note about the file."""
        self.notes.append(ReaderNote(code, message, hint, severity))

    def rows(self, statement: str) -> list[Row]:
        """All rows of a statement."""
        return self.connection.execute(statement).fetchall()

    def rows_in_time(self, statement: str) -> list[Row] | None:
        """All rows of a statement, or None if the time ran out, which is noted once."""
        if self.is_late:
            return None
        try:
            return self.rows(statement)
        except sqlite3.OperationalError as error:
            if "interrupted" not in str(error):
                raise
            self.is_late = True
            message = (
                "too large to count every table in ten seconds; "
                "those left have no row count and no samples"
            )
            self.note("table-uncounted", message, "declare it with fewer samples, or with none")
            return None


def read_tables(database: DatabaseReader, sample_size: int) -> tuple[Table, ...]:
    """Tables and views by name, without those of the library, virtual ones, and the tables that
    store these.
    """
    listed = [
        row
        for row in database.rows(_LIST_TABLES)
        if not str(row[1]).startswith(_INTERNAL_PREFIXES)
    ]
    virtual = {str(name) for _, name, sql in listed if _VIRTUAL.match(str(sql or ""))}
    plain = [
        row for row in listed if row[1] not in virtual and not _is_shadow(str(row[1]), virtual)
    ]
    if virtual:
        names = ", ".join(sorted(virtual)[:5])
        message = f"virtual tables are not read, since that runs their code: {names}"
        database.note("table-skipped", message[:300], severity="info")
    if len(plain) > MAX_TABLES:
        message = f"{len(plain) - MAX_TABLES:,} of {len(plain):,} tables are left out"
        database.note("table-skipped", message, "split the database")
    tables = [
        table
        for kind, name, sql in plain[:MAX_TABLES]
        if (table := _read_table(database, str(kind), str(name), sql))
    ]
    primary_keys = {table.name.lower(): _primary_key(table) for table in tables}
    tables = [_resolve_foreign_keys(database, table, primary_keys) for table in tables]
    return tuple(_add_rows(database, table, sample_size) for table in tables)


def _is_shadow(name: str, virtual: set[str]) -> bool:
    return any(name.startswith(f"{owner}_") for owner in virtual)


def _read_table(database: DatabaseReader, kind: str, name: str, sql: str | None) -> Table | None:
    try:
        rows = database.rows(f"PRAGMA table_info({quote_identifier(name)})")
    except sqlite3.Error as error:
        # A view over a table that is gone, for example; the others are fine.
        database.note(
            "table-skipped",
            f"{name[:64]} cannot be described: {str(error)[:160]}",
            "mend or drop it",
        )
        return None
    table_comment, of_columns = column_comments(sql or "")
    # An INTEGER PRIMARY KEY is the number of the row and never NULL, though no column says so.
    has_row_key = sum(bool(row[5]) for row in rows) == 1
    columns = tuple(
        Column(
            name=str(name),
            type=str(declared or ""),
            nullable=not (notnull or (key and has_row_key and str(declared).lower() == "integer")),
            default=None if default is None else str(default)[:2_000],
            key=int(key),
            comment=of_columns.get(str(name).lower(), ""),
        )
        for _, name, declared, notnull, default, key in rows[:MAX_COLUMNS]
    )
    return Table(name=name, columns=columns, is_view=kind == "view", comment=table_comment)


def _primary_key(table: Table) -> list[str]:
    return [
        column.name
        for column in sorted(table.columns, key=lambda column: column.key)
        if column.key
    ]


def _resolve_foreign_keys(
    database: DatabaseReader, table: Table, keys: dict[str, list[str]]
) -> Table:
    """The table with its foreign keys; one that names no column leads to the primary key."""
    if table.is_view:
        return table
    targets = dict(_foreign_keys(database, table, keys))
    columns = tuple(
        replace(column, refers_to=targets.get(column.name.lower(), "")) for column in table.columns
    )
    return replace(table, columns=columns)


def _foreign_keys(
    database: DatabaseReader, table: Table, keys: dict[str, list[str]]
) -> Iterator[tuple[str, str]]:
    for row in database.rows(f"PRAGMA foreign_key_list({quote_identifier(table.name)})"):
        place, target, key_column, referred_column = int(row[1]), str(row[2]), str(row[3]), row[4]
        primary = keys.get(target.lower(), [])
        column = (
            str(referred_column)
            if referred_column is not None
            else primary[place]
            if place < len(primary)
            else ""
        )
        yield key_column.lower(), f"{target}.{column}"


def _add_rows(database: DatabaseReader, table: Table, sample_size: int) -> Table:
    """The table with its row count and samples, if there is time for them."""
    if table.is_view:
        return table
    counts = database.rows_in_time(f"SELECT count(*) FROM {quote_identifier(table.name)}")
    table = replace(table, row_count=counts[0][0] if counts else None)
    if sample_size <= 0:
        return table
    return replace(table, samples=_samples(database, table, min(sample_size, MAX_SAMPLES)))


def _samples(database: DatabaseReader, table: Table, count: int) -> dict[str, Json]:
    names = [column.name for column in table.columns]
    chosen = ", ".join(map(quote_identifier, names))
    rows = (
        database.rows_in_time(f"SELECT {chosen} FROM {quote_identifier(table.name)} LIMIT {count}")
        if names
        else None
    )
    if rows is None:
        return {}
    columns = {}
    for name in names:
        column = quote_identifier(name)
        source = f"FROM {quote_identifier(table.name)} WHERE {column} IS NOT NULL"
        values = database.rows_in_time(f"SELECT DISTINCT {column} {source} LIMIT {count}")
        distinct = database.rows_in_time(f"SELECT count(DISTINCT {column}) {source}")
        if values is not None:
            columns[name] = ([value for (value,) in values], distinct[0][0] if distinct else None)
    return build_samples(names, columns, rows, table.row_count)


def quote_identifier(name: str) -> str:
    """The name in double quotes, with its own doubled."""
    return '"' + name.replace('"', '""') + '"'
