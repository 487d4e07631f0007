"""Remembers which definitions of tools were accepted and which changes wait, in a SQLite file.

The file lies in the state folder: an index may be deleted and rebuilt at any time, and accepted
definitions must not be forgotten with it. SQLite writes all changes of a build or none of them,
whenever the process ends; a build reads only the rows of the files that it parses. A file that
cannot be read is moved aside, a new one is started, and the user is told.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system
from capdisc_indexer.store import state_file

FORM = 1
# Some 250 bytes each; the rows that are unchanged for longest are deleted first.
MAX_REMEMBERED = 200_000
_MAX_PLACES = 50  # files with one id that are checked for one that no longer exists
_DAMAGE_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_TABLES = """
create table if not exists places (number integer primary key, path blob not null unique);
create table if not exists accepted (
    place integer not null, id text not null, digest text not null, definition text not null,
    seen text not null, primary key (place, id)) without rowid;
create index if not exists accepted_ids on accepted (id);
create table if not exists pending (
    place integer not null, id text not null, definition text not null, digest text not null,
    seen text not null, details text not null, primary key (place, id)) without rowid;
"""


@frozen
class Accepted:
    """An accepted definition: its digest, its text (as `capdisc_guard` writes it), and when
    it was first seen.
    """

    digest: str
    definition: str
    seen: str


@frozen(kw_only=True)
class Pending:
    """A changed definition that waits for approval.

    `digest` and `seen` (when it was first seen) are of the changed definition; `accepted` is when
    the definition before it was first seen, `reasons` say why it waits. `before` and `now` are
    both definitions as lines to compare.
    """

    path: str
    id: str
    digest: str
    seen: str
    accepted: str = ""
    reasons: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    now: tuple[str, ...] = ()


class DefinitionMemory:
    """The open memory, inside one transaction; `changing` makes it.

    Its methods raise sqlite3.Error, which `changing` turns into an InputError.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._is_empty = not self._rows("select 1 from accepted limit 1")

    def of_file(self, path: str) -> dict[str, Accepted]:
        """The accepted definitions of a file by id."""
        if self._is_empty:
            return {}
        sql = (
            "select id, digest, definition, seen from accepted join places on number = place "
            "where path = ?"
        )
        return {
            identifier: Accepted(digest, definition, seen)
            for identifier, digest, definition, seen in self._rows(sql, _bytes(path))
        }

    def moved(self, identifier: str) -> Accepted | None:
        """The latest definition accepted under this id in a file that is gone, or None."""
        if self._is_empty:
            return None
        sql = (
            "select path, digest, definition, seen from accepted join places on number = place "
            "where id = ? order by seen desc limit ?"
        )
        for path, digest, definition, seen in self._rows(sql, _text(identifier), _MAX_PLACES):
            if not os.path.lexists(path):
                return Accepted(digest, definition, seen)
        return None

    def held(self, path: str) -> dict[str, Pending]:
        """The waiting definitions of a file by id."""
        return {
            pending.id: pending for pending in self._select_pending("where path = ?", _bytes(path))
        }

    def accept(self, path: str, definitions: Mapping[str, Accepted]) -> None:
        """Remember these definitions of a file by id; later changes are compared with them."""
        place = self._place_number(path)
        rows = (
            (place, _text(identifier), accepted.digest, accepted.definition, accepted.seen)
            for identifier, accepted in definitions.items()
        )
        self._connection.executemany(
            "insert or replace into accepted values (?, ?, ?, ?, ?)", rows
        )

    def hold(self, pending: Pending, definition: str) -> None:
        """Remember a changed definition that waits for approval."""
        details = {key: getattr(pending, key) for key in ("accepted", "reasons", "before", "now")}
        row = (
            self._place_number(pending.path),
            _text(pending.id),
            definition,
            pending.digest,
            pending.seen,
            json.dumps(details),
        )
        self._connection.execute("insert or replace into pending values (?, ?, ?, ?, ?, ?)", row)

    def release(self, path: str, identifier: str) -> None:
        """Delete a waiting definition."""
        sql = (
            "delete from pending "
            "where id = ? and place = (select number from places where path = ?)"
        )
        self._connection.execute(sql, (_text(identifier), _bytes(path)))

    def waiting(self) -> list[Pending]:
        """All waiting definitions in the order of their ids."""
        return list(self._select_pending("order by id, path"))

    def approve(self, pending: Pending) -> bool:
        """Accept a waiting definition; False when it is no longer the one that was shown."""
        sql = (
            "select digest, definition, seen from pending join places on number = place "
            "where path = ? and id = ? and digest = ?"
        )
        rows = self._rows(sql, _bytes(pending.path), _text(pending.id), pending.digest)
        if not rows:
            return False
        self.accept(pending.path, {pending.id: Accepted(*rows[0])})
        self.release(pending.path, pending.id)
        return True

    def tidy(self) -> None:
        """Delete waiting definitions of files that no longer exist, and the oldest accepted ones
        beyond the limit.
        """
        for pending in self.waiting():
            if not os.path.lexists(_bytes(pending.path)):
                self.release(pending.path, pending.id)
        ((count,),) = self._rows("select count(*) from accepted")
        if count > MAX_REMEMBERED:
            oldest = "select place, id from accepted order by seen limit ?"
            self._connection.execute(
                f"delete from accepted where (place, id) in ({oldest})", (count - MAX_REMEMBERED,)
            )

    def _select_pending(self, condition: str, *values: Any) -> Iterator[Pending]:
        sql = (
            "select path, id, digest, seen, details from pending join places on number = place "
            + condition
        )
        for path, identifier, digest, first_seen, details_text in self._rows(sql, *values):
            details = _parse_details(details_text)
            yield Pending(
                path=os.fsdecode(path),
                id=identifier,
                digest=digest,
                seen=first_seen,
                accepted=str(details.get("accepted", "")),
                reasons=_to_lines(details.get("reasons")),
                before=_to_lines(details.get("before")),
                now=_to_lines(details.get("now")),
            )

    def _place_number(self, path: str) -> int:
        """The row of the file in the table of places; a new one where there is none."""
        if path not in self._numbers:
            self._connection.execute(
                "insert or ignore into places (path) values (?)", (_bytes(path),)
            )
            ((self._numbers[path],),) = self._rows(
                "select number from places where path = ?", _bytes(path)
            )
        return self._numbers[path]

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()


@contextmanager
def changing(path: Path) -> Iterator[DefinitionMemory]:
    """The memory, locked against other processes; changes are saved when the block ends without an
    error.

    Raises DamagedMemoryError when its content cannot be read, InputError when it cannot be used
    for another reason, and BusyError when another process keeps it locked.
    """
    with state_file.lock_folder(path.parent), _open_database(path) as connection:
        try:
            connection.execute("begin immediate")
            yield DefinitionMemory(connection)
            connection.execute("commit")
        except sqlite3.Error as error:
            raise _database_error(path, error) from error


def waiting(path: Path) -> list[Pending]:
    """All waiting definitions; none where there is no memory yet. Raises the errors of
    `changing`.
    """
    if not path.exists():
        return []
    with changing(path) as memory:
        return memory.waiting()


def set_aside(path: Path) -> Path:
    """Move a damaged memory aside and give its new path. Raises InputError on a disk error."""
    aside = path.with_name(f"{path.name}.damaged")
    try:
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}-journal").unlink()
        path.replace(aside)
    except OSError as error:
        raise InputError(f"cannot move {path} away: {error.strerror}", "remove it") from error
    return aside


class DamagedMemoryError(InputError):
    """The content of the memory of definitions cannot be read."""


@contextmanager
def _open_database(path: Path) -> Iterator[sqlite3.Connection]:
    _ensure_file(path)
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        _prepare_tables(connection)
        yield connection
    except sqlite3.Error as error:
        raise _database_error(path, error) from error
    finally:
        if connection is not None:
            connection.close()


def _ensure_file(path: Path) -> None:
    """Make the file, for its owner alone, if it is missing. Raises InputError unless it is a plain
    file.
    """
    try:
        os.close(system.open_or_create(path))
    except OSError as error:
        what = "it is a link" if path.is_symlink() else error.strerror or str(error)
        raise InputError(f"cannot use {path}: {what}", "move it away") from error
    if not path.is_file():
        raise InputError(f"cannot use {path}: it is not a regular file", "move it away")


def _prepare_tables(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file. Raises sqlite3.DatabaseError for another form."""
    connection.execute("pragma trusted_schema = off")
    ((form,),) = connection.execute("pragma user_version").fetchall()
    tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    if form == 0 and tables == 0:
        connection.executescript(
            f"begin immediate; {_TABLES} pragma user_version = {FORM}; commit;"
        )
    elif form != FORM:
        raise sqlite3.DatabaseError(f"its form is {form}, and {FORM} is understood")


def _database_error(path: Path, error: sqlite3.Error) -> InputError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _DAMAGE_CODES:
        return DamagedMemoryError(
            f"the memory of definitions is damaged: {path} ({error})", f"remove {path}"
        )
    return InputError(
        f"cannot use the memory of definitions, {path}: {error}",
        "free the disk, or make it writable",
    )


def _bytes(path: str) -> bytes:
    return os.fsencode(path)


def _text(identifier: str) -> str:
    return identifier.encode("utf-8", "replace").decode()


def _parse_details(text: str) -> JsonObject:
    try:
        details = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return details if isinstance(details, dict) else {}


def _to_lines(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return ()
    return tuple(map(str, value))
