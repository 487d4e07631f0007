"""Records which index folders this user built, by a random id in each manifest and in the state.

An index names folders as its roots, and a reader opens the files that it names. Without this check
an index that came with a clone would be trusted like the user's own. So a reader compares two
small files: the manifest, which it reads anyway, and the record in the user's state folder. Nobody
can guess the id or ship the record with a clone: only this user writes to the state folder.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import ForeignIndexError

_FOLDER = "indexes"
_MAX_BYTES = 64 * 1024  # a path has 4 KiB at most, and JSON makes up to six bytes of one
# From this number of records on, those of index folders that no longer exist are removed.
_CLEANUP_COUNT = 1_000


def new_id() -> str:
    """A random id of 32 hex digits."""
    return os.urandom(16).hex()


def check_builder(index_dir: Path, found_id: str, expected_id: str | None) -> None:
    """Raises ForeignIndexError unless the index was built by this user.

    `expected_id` is the id in the user's state ("": none); None turns the check off.
    """
    if expected_id is not None and (not expected_id or found_id != expected_id):
        raise ForeignIndexError(str(index_dir))


def load_id(trust_dir: Path, index_dir: Path) -> str:
    """The id that the user's state has for this index folder; "" without a record, or where others
    may have written it.

    A cold search reads it, so it imports nothing more and takes five system calls.
    """
    folder = os.path.realpath(index_dir)
    try:
        path = _record_path(trust_dir, folder)
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(fd)
        is_shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or is_shared or status.st_uid not in (os.geteuid(), 0):
            return ""
        return _parse_record(os.read(fd, _MAX_BYTES)).get(folder, "")
    except OSError:
        return ""
    finally:
        os.close(fd)


def ensure_id(trust_dir: Path, index_dir: Path) -> str:
    """The id of builds in this folder; a new one is recorded where there is none yet.

    Two writers at once get the same id. Raises InputError when the user's state cannot be written,
    BusyError when another process keeps it locked.
    """
    if recorded_id := load_id(trust_dir, index_dir):
        return recorded_id
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        if recorded_id := load_id(trust_dir, index_dir):
            return recorded_id
        builder_id = new_id()
        _write_record(trust_dir, index_dir, builder_id)
    return builder_id


def remember_id(trust_dir: Path, index_dir: Path, builder_id: str) -> None:
    """Record that the index in this folder is trusted as long as it has this id.

    Raises InputError when the user's state cannot be written.
    """
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        _write_record(trust_dir, index_dir, builder_id)


def forget_id(trust_dir: Path, index_dir: Path) -> bool:
    """Remove the record of this folder; False when there is none."""
    from capdisc_indexer.store import state_file

    path = _record_path(trust_dir, os.path.realpath(index_dir))
    if state_file.read_state_file(path) is None:
        return False
    with state_file.lock_folder(path.parent):
        state_file.remove(path)
    return True


def list_folders(trust_dir: Path) -> list[str]:
    """Every recorded index folder in order, even if it no longer exists."""
    return sorted(folder for _, folder in _list_records(trust_dir))


def _write_record(trust_dir: Path, index_dir: Path, builder_id: str) -> None:
    from capdisc_indexer.store import state_file

    folder = os.path.realpath(index_dir)
    records = list(_list_records(trust_dir))
    for path, recorded_folder in records if len(records) >= _CLEANUP_COUNT else ():
        if not Path(recorded_folder).exists():
            state_file.remove(path)
    record = {"version": 1, "index": folder, "id": builder_id}
    state_file.replace_state_file(_record_path(trust_dir, folder), json.dumps(record).encode())


def _list_records(trust_dir: Path) -> Iterator[tuple[Path, str]]:
    """The path of each record, and its index folder."""
    for path in (trust_dir / _FOLDER).glob("*.json"):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield from ((path, folder) for folder in _parse_record(data))


def _record_path(trust_dir: Path, folder: str) -> Path:
    digits = lazy_imports.hex_sha256(folder.encode("utf-8", "surrogateescape"))[:32]
    return trust_dir / _FOLDER / f"{digits}.json"


def _parse_record(data: bytes) -> dict[str, str]:
    """The id of a record by its folder; empty when the data are no record."""
    try:
        record = json.loads(data)
        folder, builder_id = record["index"], record["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {folder: builder_id} if isinstance(folder, str) and isinstance(builder_id, str) else {}
