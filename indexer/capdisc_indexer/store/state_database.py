"""The state of a build in one SQLite file: the files that were read, the capabilities that they
declare, and the hashes of the texts that became vectors.

The file belongs to its generation (`meta/state`). A build copies the last one, changes the
rows of the files that differ, and publishes the copy; nothing is written into it afterwards. So it
needs no journal, and readers need no locks.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes

from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, DamagedIndexError
from capdisc_indexer.model.frozen import shallow_dict
from capdisc_indexer.model.json_types import CapabilityCard
from capdisc_indexer.model.types import Severity
from capdisc_indexer.store.file_states import (
    HELD,
    DeclaredId,
    FileState,
    NearestText,
    is_stale,
    parse_finding,
)
from capdisc_indexer.store.native_errors import REBUILD_HINT

# Without the ending of a database: an index that lies in an indexed folder is not a source.
STATE_FILE = "state"
_HASH_DIGITS = 32
# Paths are blobs: they may hold bytes that are not text.
_TABLES = """
create table root (number integer primary key, path blob not null unique);
create table file (
    number integer primary key, path blob not null unique, root integer not null,
    stat text not null, hash text not null, read_as blob not null, findings text not null,
    has_error integer not null, is_stale integer not null);
create index file_hash on file (hash);
create table capability (
    file integer not null, part integer not null, declared text not null, id text not null,
    status text not null, other_path blob not null, digest text not null, texts text not null,
    kind text, name text, category text, is_general integer, hidden integer, tokens integer,
    characters integer, listing_tokens integer, interface text,
    primary key (file, part)) without rowid;
create index file_error on file (number) where has_error;
create index file_stale on file (number) where is_stale;
create index capability_status on capability (status) where status != 'indexed';
create unique index capability_id on capability (id) where id != '';
create index capability_other on capability (other_path) where other_path != x'';
create table text (hash text not null, id text not null, part integer not null,
    primary key (hash, id, part)) without rowid;
create table nearest (number integer primary key, distance real not null, hash text not null);
"""
_FILE_COLUMNS = "number, path, root, stat, hash, read_as, findings"
_CARD_COLUMNS = (
    "kind, name, category, is_general, hidden, tokens, characters, listing_tokens, interface"
)
_CAPABILITY_COLUMNS = f"file, declared, id, status, other_path, digest, texts, {_CARD_COLUMNS}"
_CAPABILITY_WIDTH = 17
_PROBE_BYTES = 65_536
# SQLite has its own codes for what the operating system refuses.
_ERRNOS = {"SQLITE_FULL": errno.ENOSPC, "SQLITE_IOERR": errno.EIO, "SQLITE_NOMEM": errno.ENOMEM}


class CardRow(NamedTuple):
    """What lists and overviews need of a capability; the tokens and characters are those of its
    full text, `listing_tokens` those of its name and description.
    """

    id: str
    name: str
    kind: str
    category: str
    tokens: int
    characters: int
    listing_tokens: int
    is_general: int
    hidden: int


@contextmanager
def _translate_errors(path: Path, *, is_written: bool = False) -> Iterator[None]:
    """Turns an error of SQLite into an OSError where the operating system refused. Any other one,
    and an error about the values that were read, becomes DamagedIndexError.
    """
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        for prefix, number in _ERRNOS.items():
            if name.startswith(prefix):
                if is_written:  # SQLite does not tell why: the next call of the system does
                    with path.open("ab") as file:
                        file.write(bytes(_PROBE_BYTES))
                raise OSError(number, os.strerror(number), str(path)) from error
        raise DamagedIndexError(f"the index is damaged: {path}: {error}", REBUILD_HINT) from error
    except MALFORMED_DATA_ERRORS as error:
        raise DamagedIndexError(f"the index is damaged: {path}", REBUILD_HINT) from error


class StateDatabase(Mapping[str, FileState]):
    """The files of a generation by path, read when they are asked for, in the order of their roots
    and paths; and what is known of their capabilities.

    Raises DamagedIndexError from any method where the file is damaged.
    """

    def __init__(
        self, folder: Path, later_stats: Mapping[str, tuple[int, ...]] = MappingProxyType({})
    ) -> None:
        """`folder` is that of a generation; `later_stats` are the stamps of files that a later
        scan found touched and unchanged.
        """
        self._path = folder / "meta" / STATE_FILE
        self._later_stats = later_stats
        self._states: dict[str, FileState] = {}
        self._is_loaded = False
        with _translate_errors(self._path):
            self._connection = self._connect()
        rows = self._select("select * from root order by number")
        self._roots: dict[int, str] = {number: os.fsdecode(path) for number, path in rows}

    def _connect(self) -> sqlite3.Connection:
        name = quote_from_bytes(os.fsencode(self._path))
        return sqlite3.connect(
            f"file:{name}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )

    def __del__(self) -> None:
        # Python 3.13 warns of a connection that is left to the garbage collector.
        with suppress(AttributeError):  # it was never opened
            self._connection.close()

    def _select(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with _translate_errors(self._path):
            return self._connection.execute(statement, values).fetchall()

    def _count(self, rows: str) -> int:
        return int(self._select(f"select count(*) from {rows}")[0][0])

    def __getitem__(self, path: str) -> FileState:
        if path not in self._states and not self._is_loaded:
            rows = self._select(
                f"select {_FILE_COLUMNS} from file where path = ?", [os.fsencode(path)]
            )
            self._states.update(self._make_states(rows, "where file = ? order by part"))
        return self._states[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self.load_all())

    def __len__(self) -> int:
        if self._is_loaded:
            return len(self._states)
        return self._count("file")

    def load_all(self) -> Mapping[str, FileState]:
        """The states of all files; later calls and look-ups cost nothing more."""
        if not self._is_loaded:
            rows = self._select(f"select {_FILE_COLUMNS} from file order by root, path")
            known = self._states
            self._states = {**self._make_states(rows, ""), **known}
            self._is_loaded = True
        return self._states

    def _make_states(self, rows: Sequence[Any], condition: str) -> dict[str, FileState]:
        """The states of these rows; `condition` selects the capabilities of the first one, or ""
        those of all files.
        """
        if not rows:
            return {}
        capabilities = self._select(
            f"select {_CAPABILITY_COLUMNS} from capability {condition or 'order by file, part'}",
            [rows[0][0]] if condition else [],
        )
        declared_ids: dict[int, list[DeclaredId]] = {}
        states: dict[str, FileState] = {}
        with _translate_errors(self._path):
            for number, *values in capabilities:
                declared_ids.setdefault(number, []).append(_make_declared_id(*values))
            for number, path_bytes, root, stat, content_hash, read_as, findings in rows:
                path = os.fsdecode(path_bytes)
                states[path] = FileState(
                    path,
                    self._roots[root],
                    self._later_stats.get(path) or tuple(map(int, stat.split())),
                    content_hash,
                    tuple(declared_ids.get(number, ())),
                    tuple(map(parse_finding, json.loads(findings))) if findings else (),
                    read_as.decode("utf-8", "surrogatepass"),
                )
        return states

    @property
    def roots(self) -> Collection[str]:
        """The roots that hold files, in their order."""
        return self._roots.values()

    def find_declared(self, identifier: str) -> DeclaredId | None:
        """The capability with this final id."""
        rows = self._select(
            f"select {_CAPABILITY_COLUMNS} from capability where id = ? and id != ''", [identifier]
        )
        return _make_declared_id(*rows[0][1:]) if rows else None

    def has_other_file(self, content_hash: str, paths: Collection[str]) -> bool:
        """Whether a file at any other path has this content."""
        rows = self._select("select path from file where hash = ?", [content_hash])
        return any(os.fsdecode(path) not in paths for (path,) in rows)

    def is_owner(self, path: str) -> bool:
        """Whether this file owns an id that a capability of another file claims."""
        statement = "select 1 from capability where other_path = ? and other_path != x'' limit 1"
        return bool(self._select(statement, [os.fsencode(path)]))

    def ids(self) -> list[str]:
        """All final ids, in order."""
        return [
            identifier
            for (identifier,) in self._select(
                "select id from capability where id != '' order by id"
            )
        ]

    def count_ids(self) -> int:
        """The number of final ids."""
        return self._count("capability where id != ''")

    def digests(self) -> dict[str, str]:
        """The digest of each capability's record by final id, in the order of the ids."""
        return dict(self._select("select id, digest from capability where id != '' order by id"))

    def held_ids(self) -> list[str]:
        """The ids, as their files declare them, of what is held back, in order."""
        rows = self._select(
            "select distinct declared from capability where status = ? and status != 'indexed'"
            " order by declared",
            [HELD],
        )
        return [declared for (declared,) in rows]

    def count_statuses(self) -> Mapping[str, int]:
        """The number of capabilities that are not indexed, by status."""
        statement = (
            "select status, count(*) from capability where status != 'indexed' group by status"
        )
        return dict(self._select(statement))

    def count_failed(self) -> int:
        """The number of files with an error and without a capability of their own. An empty list
        has not failed: an error must say so.
        """
        return self._count(
            "file where has_error and (is_stale or not exists"
            " (select 1 from capability where file = file.number))"
        )

    def count_stale(self) -> int:
        """The number of capabilities that come from an older version of their file."""
        return self._count("file join capability on file = number where is_stale")

    # Texts and their vectors.

    def text_hashes(self) -> dict[str, tuple[str, ...]]:
        """The text hashes of every indexed id in the order of the ids, as the matrix has its
        rows.
        """
        rows = self._select("select id, texts from capability where id != '' order by id")
        return {identifier: _split_hashes(texts) for identifier, texts in rows}

    def count_texts(self) -> int:
        """The number of texts of all capabilities, which is that of the rows of the matrix."""
        return self._count("text")

    def find_text(self, text_hash: str) -> tuple[str, int] | None:
        """A capability with this text, and the number of the text in it; None without one."""
        rows = self._select("select id, part from text where hash = ? limit 1", [text_hash])
        return rows[0] if rows else None

    def text_of(self, identifier: str, number: int) -> str:
        """The hash of a text of a capability. Raises LookupError for an unknown one."""
        ((texts,),) = self._select("select texts from capability where id = ?", [identifier])
        return _split_hashes(texts)[number]

    @property
    def nearest(self) -> Sequence[NearestText]:
        """The text that is nearest to each null query."""
        return self._select("select distance, hash from nearest order by number")

    # Cards.

    def cards(self) -> list[CardRow]:
        """A row for each capability, in the order of the ids."""
        # A scan of the table: the index of ids would lead to each row by itself.
        rows = self._select(
            "select id, name, kind, category, tokens, characters, listing_tokens, is_general,"
            " hidden from capability where +id != '' and kind is not null"
        )
        return sorted(map(CardRow._make, rows))

    def visible_interfaces(self) -> Iterator[tuple[str, str, CapabilityCard]]:
        """Path, id and card of each capability that is not hidden, in the order of files."""
        for path, identifier, *card in self._select(
            f"select path, id, {_CARD_COLUMNS} from capability join file on file = number"
            " where id != '' and kind is not null and not hidden order by root, path, part"
        ):
            parsed_card = _make_card(*card)
            assert parsed_card is not None
            yield os.fsdecode(path), identifier, parsed_card


def _split_hashes(texts: str) -> tuple[str, ...]:
    starts = range(0, len(texts), _HASH_DIGITS)
    return tuple([texts[start : start + _HASH_DIGITS] for start in starts])


def _make_declared_id(
    declared: str,
    identifier: str,
    status: str,
    other_path: bytes,
    digest: str,
    texts: str,
    *card: Any,
) -> DeclaredId:
    return DeclaredId(
        declared,
        identifier,
        status,
        os.fsdecode(other_path),
        _split_hashes(texts),
        digest,
        _make_card(*card),
    )


def _make_card(kind: str | None, *values: Any) -> CapabilityCard | None:
    if kind is None:
        return None
    name, category, is_general, hidden, *size, interface = values
    card: CapabilityCard = {
        "kind": kind,
        "name": name,
        "category": category,
        "is_general": bool(is_general),
        "hidden": bool(hidden),
        "size": size,
    }
    if interface is not None:
        card["interface"] = json.loads(interface)
    return card


class StateWriter(StateDatabase):
    """The state of the generation that is being built in `folder`: that of `source` (None: an
    empty one), which changes row by row. It is complete once it is closed.
    """

    def __init__(self, folder: Path, source: Path | None) -> None:
        path = folder / "meta" / STATE_FILE
        path.parent.mkdir(exist_ok=True)
        if source is not None:
            shutil.copyfile(source / "meta" / STATE_FILE, path)
        with (
            _translate_errors(path, is_written=True),
            closing(sqlite3.connect(path)) as connection,
        ):
            if source is None:
                connection.executescript(_TABLES)
        super().__init__(folder)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        # A build that fails removes the file, and one that publishes it syncs it.
        connection.executescript("pragma journal_mode = off; pragma synchronous = off; begin")
        return connection

    def __enter__(self) -> StateWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with _translate_errors(self._path, is_written=True), closing(self._connection):
            if kind is None:
                self._connection.execute("commit")

    def _execute_all(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with _translate_errors(self._path, is_written=True):
            self._connection.executemany(statement, rows)

    def update(self, states: Mapping[str, FileState], removed: Iterable[str]) -> None:
        """Replace the rows of these files, and remove those of others."""
        # First what is there of all of them: an id that moves to another file has one owner.
        for path in (*removed, *states):
            for (number,) in self._select(
                "select number from file where path = ?", [os.fsencode(path)]
            ):
                self._remove(number)
        roots = {path: number for number, path in self._roots.items()}
        (row,) = self._select("select max(number) from file")
        for number, state in enumerate(states.values(), 1 + (row[0] or 0)):
            if state.root not in roots:
                roots[state.root] = len(roots)
                self._roots[roots[state.root]] = state.root
                self._execute_all(
                    "insert into root values (?, ?)",
                    [(roots[state.root], os.fsencode(state.root))],
                )
            self._add(number, roots[state.root], state)

    def _remove(self, file: int) -> None:
        capabilities = self._select("select id, texts from capability where file = ?", [file])
        self._execute_all(
            "delete from text where hash = ? and id = ?",
            [(text, key) for key, texts in capabilities if key for text in _split_hashes(texts)],
        )
        self._execute_all("delete from capability where file = ?", [(file,)])
        self._execute_all("delete from file where number = ?", [(file,)])

    def _add(self, file: int, root: int, state: FileState) -> None:
        row = (
            file,
            os.fsencode(state.path),
            root,
            " ".join(map(str, state.stat)),
            state.content_hash,
            state.read_as.encode("utf-8", "surrogatepass"),
            json.dumps(state.findings, default=shallow_dict) if state.findings else "",
            any(finding.severity is Severity.ERROR for finding in state.findings),
            is_stale(state),
        )
        self._execute_all(f"insert into file values ({', '.join('?' * len(row))})", [row])
        self._execute_all(
            f"insert into capability values ({', '.join('?' * _CAPABILITY_WIDTH)})",
            [(file, part, *_to_row(declared)) for part, declared in enumerate(state.declared_ids)],
        )
        self._execute_all(
            "insert or ignore into text values (?, ?, ?)",
            [
                (text, declared.resolved_id, part)
                for declared in state.declared_ids
                if declared.resolved_id
                for part, text in enumerate(declared.texts)
            ],
        )

    def restamp(self, stats: Mapping[str, Sequence[int]]) -> None:
        """Replace the stamps of files."""
        self._execute_all(
            "update file set stat = ? where path = ?",
            [(" ".join(map(str, stat)), os.fsencode(path)) for path, stat in stats.items()],
        )

    def set_nearest(self, nearest: Sequence[NearestText]) -> None:
        """Replace the texts that are nearest to null queries."""
        self._execute_all("delete from nearest", [()])
        self._execute_all(
            "insert into nearest values (?, ?, ?)",
            [(number, *entry) for number, entry in enumerate(nearest)],
        )


def _to_row(declared: DeclaredId) -> Sequence[Any]:
    card = declared.card
    interface = card.get("interface") if card else None
    return (
        declared.id,
        declared.resolved_id,
        declared.status,
        os.fsencode(declared.other_path),
        declared.digest,
        "".join(declared.texts),
        *(
            (
                card["kind"],
                card["name"],
                card["category"],
                card["is_general"],
                card["hidden"],
                *card["size"],
            )
            if card
            else [None] * 8
        ),
        None if interface is None else json.dumps(interface),
    )
