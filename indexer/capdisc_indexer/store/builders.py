"""Which index folders this user built: a random id in each generation's manifest, and the same id
in the user's state.

An index says which folders are whose roots, and a reader opens what it names; one that came with a
clone would be believed like one's own. So a reader compares two small files: the manifest that it
reads anyway, and the record here. Neither an id nor a path can be guessed or shipped: the record
lies where only this user writes.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer.model.errors import ForeignIndexError

_FOLDER = "indexes"
_MAX_BYTES = 64 * 1024  # a path has 4 KiB at most, and JSON makes six bytes of one
# Of index folders that are gone, records are removed once there are so many.
_MANY = 1_000


def new_id() -> str:
    """An id that nobody can guess, of 32 hex digits."""
    return os.urandom(16).hex()


def check_builder(index_dir: Path, found_id: str, expected_id: str | None) -> None:
    """Raises ForeignIndexError unless the index was built by this user; `expected_id` is what the
    user's state has for its folder ("": nothing), None where nobody asks.
    """
    if expected_id is not None and (not expected_id or found_id != expected_id):
        raise ForeignIndexError(str(index_dir))


def load_id(trust_dir: Path, index_dir: Path) -> str:
    """The id that the user's state has for this index folder; "" where it has none that is this
    user's own.

    A cold search reads it: it imports nothing more and takes five calls of the kernel.
    """
    folder = os.path.realpath(index_dir)
    try:
        path = _path(trust_dir, folder)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(handle)
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or others or status.st_uid not in (os.geteuid(), 0):
            return ""
        return _parsed(os.read(handle, _MAX_BYTES)).get(folder, "")
    except OSError:
        return ""
    finally:
        os.close(handle)


def ensure_id(trust_dir: Path, index_dir: Path) -> str:
    """The id that what is built in this folder has to have, made and kept where there is none yet.
    Of two writers at once both get the same.

    Raises InputError where the user's state cannot be written, BusyError where another process
    keeps it.
    """
    if known := load_id(trust_dir, index_dir):
        return known
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        if known := load_id(trust_dir, index_dir):
            return known
        identity = new_id()
        _write(trust_dir, index_dir, identity)
    return identity


def remember_id(trust_dir: Path, index_dir: Path, identity: str) -> None:
    """Believe the index in this folder as long as it has this id. Raises InputError where that
    cannot be written.
    """
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        _write(trust_dir, index_dir, identity)


def forget_id(trust_dir: Path, index_dir: Path) -> bool:
    """Believe the index in this folder no longer; False where it was not believed."""
    from capdisc_indexer.store import state_file

    path = _path(trust_dir, os.path.realpath(index_dir))
    if state_file.read_state_file(path) is None:
        return False
    with state_file.lock_folder(path.parent):
        state_file.remove(path)
    return True


def list_folders(trust_dir: Path) -> list[str]:
    """Every index folder that is believed, there or not."""
    return sorted(folder for _, folder in _records(trust_dir))


def _write(trust_dir: Path, index_dir: Path, identity: str) -> None:
    from capdisc_indexer.store import state_file

    folder = os.path.realpath(index_dir)
    records = list(_records(trust_dir))
    for path, kept in records if len(records) >= _MANY else ():
        if not Path(kept).exists():
            state_file.remove(path)
    record = {"version": 1, "index": folder, "id": identity}
    state_file.replace_state_file(_path(trust_dir, folder), json.dumps(record).encode())


def _records(trust_dir: Path) -> Iterator[tuple[Path, str]]:
    for path in (trust_dir / _FOLDER).glob("*.json"):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield from ((path, folder) for folder in _parsed(data))


def _path(trust_dir: Path, folder: str) -> Path:
    digits = hashlib.sha256(folder.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return trust_dir / _FOLDER / f"{digits}.json"


def _parsed(data: bytes) -> dict[str, str]:
    """The folder of a record with its id; nothing where it is no record."""
    try:
        record = json.loads(data)
        folder, identity = record["index"], record["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {folder: identity} if isinstance(folder, str) and isinstance(identity, str) else {}
