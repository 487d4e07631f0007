"""What is remembered of the definitions of tools, beyond the life of an index: a SQLite file of
this user's own.

It lies in the state folder, since an index may be deleted and built anew at any time, and what was
accepted must not be forgotten with it. SQLite writes all of a build's changes or none of them,
whenever the process ends; a build reads the rows of the files that it parses and no others. What
cannot be read is moved aside and begun anew, and that is said.
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
from capdisc_indexer.store import state_file

FORM = 1
# Some 250 bytes each; the longest unchanged are forgotten first.
MAX_REMEMBERED = 200_000
_MAX_PLACES = 50  # of one id that are looked at to see which of them has moved
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_TABLES = """
create table if not exists places (number integer primary key, path blob not null unique);
create table if not exists accepted (
    place integer not null, id text not null, digest text not null, definition text not null, seen text not null,
    primary key (place, id)) without rowid;
create index if not exists accepted_ids on accepted (id);
create table if not exists pending (
    place integer not null, id text not null, definition text not null, digest text not null, seen text not null,
    details text not null, primary key (place, id)) without rowid;
"""


@frozen
class Accepted:
    """A definition that was accepted: its digest, itself in the words of
    `check.changes.definition`, and when it was first seen.
    """

    digest: str
    definition: str
    seen: str


@frozen(kw_only=True)
class Pending:
    """A changed definition that waits for somebody's yes: the file and the id, the digest of what
    is held back, when it was first seen, when the one before it was, why it waits, and both as
    lines to be compared.
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
    """The open memory, inside one transaction. Raises sqlite3.Error, which whoever opens it turns
    into words.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}
        self._is_empty = not self._rows("select 1 from accepted limit 1")

    def of_file(self, path: str) -> dict[str, Accepted]:
        """What was accepted of a file, by id."""
        if self._is_empty:
            return {}
        wanted = "select id, digest, definition, seen from accepted join places on number = place where path = ?"
        return {name: Accepted(*rest) for name, *rest in self._rows(wanted, _bytes(path))}

    def moved(self, identifier: str) -> Accepted | None:
        """What was accepted under the id in a file that is gone; the latest, where there are
        several.
        """
        if self._is_empty:
            return None
        wanted = (
            "select path, digest, definition, seen from accepted join places on number = place where id = ? "
            "order by seen desc limit ?"
        )
        for path, *rest in self._rows(wanted, _text(identifier), _MAX_PLACES):
            if not os.path.lexists(path):
                return Accepted(*rest)
        return None

    def held(self, path: str) -> dict[str, Pending]:
        """What waits of a file, by id."""
        return {one.id: one for one in self._pending("where path = ?", _bytes(path))}

    def accept(self, path: str, definitions: Mapping[str, Accepted]) -> None:
        """Remember definitions of a file, by id, as those that their changes are compared with."""
        place = self._number(path)
        rows = (
            (place, _text(name), one.digest, one.definition, one.seen)
            for name, one in definitions.items()
        )
        self._connection.executemany("insert or replace into accepted values (?, ?, ?, ?, ?)", rows)

    def hold(self, pending: Pending, definition: str) -> None:
        """Let a changed definition wait."""
        details = {key: getattr(pending, key) for key in ("accepted", "reasons", "before", "now")}
        text = json.dumps(details)
        row = (
            self._number(pending.path),
            _text(pending.id),
            definition,
            pending.digest,
            pending.seen,
            text,
        )
        self._connection.execute("insert or replace into pending values (?, ?, ?, ?, ?, ?)", row)

    def release(self, path: str, identifier: str) -> None:
        """Forget that a changed definition waited."""
        wanted = "delete from pending where id = ? and place = (select number from places where path = ?)"
        self._connection.execute(wanted, (_text(identifier), _bytes(path)))

    def waiting(self) -> list[Pending]:
        """Everything that waits, in the order of the ids."""
        return list(self._pending("order by id, path"))

    def approve(self, pending: Pending) -> bool:
        """Accept what waits, if it still is what was shown."""
        wanted = (
            "select digest, definition, seen from pending join places on number = place "
            "where path = ? and id = ? and digest = ?"
        )
        found = self._rows(wanted, _bytes(pending.path), _text(pending.id), pending.digest)
        if not found:
            return False
        self.accept(pending.path, {pending.id: Accepted(*found[0])})
        self.release(pending.path, pending.id)
        return True

    def tidy(self) -> None:
        """Forget what waits of files that are gone, and what is too much."""
        gone = [one for one in self.waiting() if not os.path.lexists(_bytes(one.path))]
        for one in gone:
            self.release(one.path, one.id)
        ((count,),) = self._rows("select count(*) from accepted")
        if count > MAX_REMEMBERED:
            oldest = "select place, id from accepted order by seen limit ?"
            wanted = f"delete from accepted where (place, id) in ({oldest})"
            self._connection.execute(wanted, (count - MAX_REMEMBERED,))

    def _pending(self, condition: str, *values: Any) -> Iterator[Pending]:
        wanted = f"select path, id, digest, seen, details from pending join places on number = place {condition}"
        for path, name, digest, seen, text in self._rows(wanted, *values):
            details = _details(text)
            lines = {key: _lines(details.get(key)) for key in ("reasons", "before", "now")}
            accepted = str(details.get("accepted", ""))
            yield Pending(
                path=os.fsdecode(path),
                id=name,
                digest=digest,
                seen=seen,
                accepted=accepted,
                **lines,
            )

    def _number(self, path: str) -> int:
        if path not in self._numbers:
            self._connection.execute(
                "insert or ignore into places (path) values (?)", (_bytes(path),)
            )
            ((self._numbers[path],),) = self._rows(
                "select number from places where path = ?", _bytes(path)
            )
        return self._numbers[path]

    def _rows(self, wanted: str, *values: Any) -> list[Any]:
        return self._connection.execute(wanted, values).fetchall()


@contextmanager
def changing(path: Path) -> Iterator[DefinitionMemory]:
    """The memory, to be read and changed by nobody else meanwhile; what was changed counts once
    the block has ended without an error.

    Raises InputError where it cannot be used, with `damaged` true where that is for what it holds,
    and BusyError when another process keeps it.
    """
    with state_file.lock_folder(path.parent), _opened(path) as connection:
        try:
            connection.execute("begin immediate")
            yield DefinitionMemory(connection)
            connection.execute("commit")
        except sqlite3.Error as error:
            raise _refused(path, error) from error


def waiting(path: Path) -> list[Pending]:
    """Every changed definition that waits, none where nothing is remembered. Raises InputError as
    `changing` does.
    """
    if not path.exists():
        return []
    with changing(path) as memory:
        return memory.waiting()


def set_aside(path: Path) -> Path:
    """Move a damaged memory away, and say where it lies now. Raises InputError where the disk
    refuses.
    """
    aside = path.with_name(f"{path.name}.damaged")
    try:
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}-journal").unlink()
        path.replace(aside)
    except OSError as error:
        raise InputError(f"cannot move {path} away: {error.strerror}", "remove it") from error
    return aside


class DamagedMemoryError(InputError):
    """What the memory of definitions holds cannot be read."""


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    _make(path)
    connection = None
    try:
        connection = sqlite3.connect(path, isolation_level=None, timeout=10.0)
        _prepare(connection)
        yield connection
    except sqlite3.Error as error:
        raise _refused(path, error) from error
    finally:
        if connection is not None:
            connection.close()


def _make(path: Path) -> None:
    """The file, for its owner alone, where it is missing. Raises InputError for anything but a
    plain file.
    """
    try:
        handle = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
        )
        os.close(handle)
    except OSError as error:
        what = "it is a link" if path.is_symlink() else error.strerror or str(error)
        raise InputError(f"cannot use {path}: {what}", "move it away") from error
    if not path.is_file():
        raise InputError(f"cannot use {path}: it is no plain file", "move it away")


def _prepare(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError for a file of another form."""
    connection.execute("pragma trusted_schema = off")
    ((form,),) = connection.execute("pragma user_version").fetchall()
    tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    if form == 0 and tables == 0:
        connection.executescript(
            f"begin immediate; {_TABLES} pragma user_version = {FORM}; commit;"
        )
    elif form != FORM:
        raise sqlite3.DatabaseError(f"its form is {form}, and {FORM} is understood")


def _refused(path: Path, error: sqlite3.Error) -> InputError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _DAMAGED:
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


def _details(text: str) -> Mapping[str, Any]:
    try:
        details = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return details if isinstance(details, dict) else {}


def _lines(value: Any) -> tuple[str, ...]:
    return (
        tuple(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else ()
    )
