"""SQLite files: tables, columns and foreign keys, by the library itself, which is kept from doing anything else.

The file is opened as one that never changes, so that no journal is made or read. Nothing that the file holds is run:
views and virtual tables are listed by their columns, or not at all, and only real tables are counted and sampled. It
happens in a process of its own, since views can be nested so that merely naming their columns takes for ever.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from capdisc_indexer.frozen import asdict
from capdisc_indexer.sources.apart import ApartError, read_apart
from capdisc_indexer.sources.files import FoundFile, unreadable
from capdisc_indexer.sources.made import name_of, sample_count
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.secret_files import held_by_tables, secret_file
from capdisc_indexer.sources.tables.described import described
from capdisc_indexer.sources.tables.sqlite_schema import MAX_COLUMNS, Reading, read_tables
from capdisc_indexer.sources.tables.values import Note, Tables, failure, tables_from
from capdisc_indexer.types import Loaded

SECONDS = 30  # for all of it
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
_CHECK = "see: sqlite3 FILE 'PRAGMA integrity_check'"
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
_PRAGMAS = {"table_info", "foreign_key_list"}


def load(file: FoundFile, data: bytes) -> Loaded:
    """The database and its tables. The bytes are not needed: the file is opened, and may be larger than memory."""
    request: dict[str, Json] = {"path": file.resolved, "inode": file.inode, "samples": sample_count(file)}
    try:
        tables = tables_from(read_apart("tables.sqlite", request, seconds=SECONDS))
    except ApartError as error:
        tables = failure("sqlite", str(error), _CHECK)
    columns = ((table.name, [column.name for column in table.columns]) for table in tables.tables)
    if not file.allows_secrets and (holds := held_by_tables(columns)):
        return Loaded(findings=(secret_file(file.path, holds),))
    return described(file, name_of(file), tables)


def read_request(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The answer of the process that reads."""
    return asdict(read(request["path"], request["inode"], request["samples"]))


def read(path: str, inode: int, samples: int = 0) -> Tables:
    """The tables, with so many samples of each; none and the reason where the file is no database."""
    try:
        with _opened(path, inode) as connection:
            reading = Reading(connection)
            tables = read_tables(reading, samples)
            return Tables(kind="sqlite", tables=tables, notes=(*reading.notes, *_journal(path)))
    except OSError as error:
        found = unreadable(path, error)
        note = Note(severity=found.severity, code=found.code, message=found.message, hint=found.hint)
        return Tables(kind="sqlite", notes=(note,))
    except (sqlite3.Error, ValueError) as error:
        return _broken(error)


@contextmanager
def _opened(path: str, inode: int) -> Iterator[sqlite3.Connection]:
    """A connection that can only read. Raises OSError where the file is not the one that the scan saw."""
    _check_place(path, inode)
    uri = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        _check_place(path, inode)
        connection.text_factory = _text
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for name, setting in (("trusted_schema", "OFF"), ("query_only", "ON"), ("cell_size_check", "ON")):
            connection.execute(f"PRAGMA {name} = {setting}")
        # Reads the whole schema; after it the authorizer is asked about our own statements only.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.set_authorizer(_authorize)
        deadline = time.monotonic() + MAX_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        yield connection


def _check_place(path: str, inode: int) -> None:
    """The library opens by name and follows links, so what the name leads to must be what was found; looked at before
    and after opening."""
    if os.path.realpath(path) != path or os.lstat(path).st_ino != inode:
        raise FileNotFoundError


def _authorize(action: int, one: str | None, two: str | None, database: str | None, source: str | None) -> int:
    is_ours = (action == sqlite3.SQLITE_FUNCTION and two == "count") or (
        action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS
    )
    return sqlite3.SQLITE_OK if is_ours or action in _ALLOWED else sqlite3.SQLITE_DENY


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _journal(path: str) -> Iterator[Note]:
    try:
        is_pending = os.lstat(f"{path}-wal").st_size > 0
    except OSError:
        return
    if is_pending:
        message = "changes that are still in the write-ahead log beside it are not seen"
        yield Note(severity="info", code="data-pending", message=message, hint="close the database, and index again")


def _broken(error: Exception) -> Tables:
    reason = (str(error).splitlines() or ["unknown reason"])[0][:200]
    return failure("sqlite", f"cannot be read as a SQLite database: {reason}", _CHECK)
