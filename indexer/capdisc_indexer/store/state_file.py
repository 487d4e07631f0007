"""Reads and replaces small files of the state folder, and keeps the grants of workspaces in them.

Several processes may change such a file: one at a time, whole or not at all, and never through a
link. Its content cannot be made again, and it goes into prompts, so only its owner may write to
the folder.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.config.trust import Grant
from capdisc_indexer.model.errors import BusyError, IndexStateError, InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system
from capdisc_indexer.store.durable_files import (
    find_permission_flaw,
    make_private_folder,
    replace_file,
)
from capdisc_indexer.store.locks import acquire_within

MAX_BYTES = 4 * 1024 * 1024
_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.01
# What helps where the system refuses; elsewhere, moving the file away does.
_STEPS = {
    os.strerror(code): step
    for step, codes in {
        "make it writable": (errno.EACCES, errno.EPERM, errno.EROFS),
        "free some space there": (errno.ENOSPC, errno.EDQUOT),
        "see the kernel's log about that disk (dmesg)": (errno.EIO,),
    }.items()
    for code in codes
}
_OTHER_FOLDER_HINT = "or choose another folder with CAPDISC_STATE_DIR"


def read_state_file(path: Path, max_bytes: int = MAX_BYTES) -> bytes | None:
    """The bytes of a regular file of this user; None when there is none.

    Raises InputError for another kind of file, for one that others may write, for more than
    `max_bytes`, and when it cannot be read.
    """
    _check_folder(path.parent)
    try:
        fd = system.open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _state_file_error("read", path, _reason(path, error)) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _state_file_error("read", path, "it is not a regular file")
        with os.fdopen(fd, "rb", closefd=False) as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise _state_file_error("read", path, _reason(path, error)) from error
    finally:
        os.close(fd)
    if len(data) > max_bytes:
        raise _state_file_error("read", path, f"it has more than {max_bytes // 1024 // 1024} MiB")
    return data


@contextmanager
def lock_folder(folder: Path, timeout_s: float = _WAIT_SECONDS) -> Iterator[None]:
    """Holds the lock to change files of the folder: read, decide and write inside the block.

    A missing folder is made. Raises BusyError when another process holds the lock for longer than
    `timeout_s` seconds, InputError when this user may not write or others may.
    """
    _make_folder(folder)
    try:
        fd = system.open_or_create(folder / "LOCK")
    except OSError as error:
        raise _state_file_error(
            "write", folder / "LOCK", _reason(folder / "LOCK", error)
        ) from error
    try:
        _wait_for_lock(fd, folder, timeout_s)
        for leftover in folder.glob(".*.new"):  # of a process that was killed while it wrote
            with suppress(OSError):
                leftover.unlink()
        yield
    finally:
        os.close(fd)


def replace_state_file(path: Path, data: bytes, max_bytes: int = MAX_BYTES) -> None:
    """Replace the file in one step, readable for its owner alone. Only inside `lock_folder`.

    Raises InputError when a link or a folder has the name, on a disk error, and for more than
    `max_bytes`.
    """
    if len(data) > max_bytes:
        raise _state_file_error(
            "write", path, f"it would have more than {max_bytes // 1024 // 1024} MiB"
        )
    if path.is_symlink() or path.is_dir():
        raise _state_file_error("write", path, "it is not a regular file")
    try:
        replace_file(path, data)
        system.sync_folder(path.parent)
    except OSError as error:
        raise _state_file_error("write", path, error.strerror or str(error)) from error


def remove(path: Path) -> None:
    """Remove the file durably. Only inside `lock_folder`. Raises InputError on a disk error."""
    try:
        path.unlink(missing_ok=True)
        system.sync_folder(path.parent)
    except OSError as error:
        raise _state_file_error("remove", path, error.strerror or str(error)) from error


def _make_folder(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except IndexStateError as error:
        raise InputError(
            error.message.replace("the index folder", "the state folder"), _OTHER_FOLDER_HINT[3:]
        ) from error
    _check_folder(folder)


def _check_folder(folder: Path) -> None:
    if folder.is_symlink():
        raise _state_file_error("use", folder, "it is a link")
    if reason := find_permission_flaw(folder, {system.own_user()}):
        hint = f"run: chmod go-w {reason[0]}" if "others" in reason[1] else "run this as that user"
        raise InputError(f"not using {reason[0]}: {reason[1]}", f"{hint}; {_OTHER_FOLDER_HINT}")


def _wait_for_lock(fd: int, folder: Path, timeout_s: float) -> None:
    try:
        is_acquired = acquire_within(fd, timeout_s, _POLL_SECONDS)
    except OSError as error:
        raise _state_file_error("lock", folder, error.strerror or str(error)) from error
    if not is_acquired:
        raise BusyError(f"another process is changing {folder}", "try again")


def _reason(path: Path, error: OSError) -> str:
    return "it is a link" if path.is_symlink() else error.strerror or str(error)


def _state_file_error(verb: str, path: Path, why: str) -> InputError:
    step = _STEPS.get(why, "move it away")
    return InputError(f"cannot {verb} {path}: {why}", f"{step}, {_OTHER_FOLDER_HINT}")


# The grants of this user, in a file for each workspace. A grant belongs to the real path of the
# workspace and to the bytes of its file: see `capdisc_indexer.config.trust`.

_FOLDER = "workspaces"


@frozen(kw_only=True)
class StoredGrant:
    """A stored grant: its workspace, the file that it covers ("": none), and when it was given."""

    workspace: str
    file: str
    at: str
    grant: Grant


def grant_folder(trust_dir: Path) -> Path:
    """The folder of the grants. Its time stamp changes whenever a grant does."""
    return trust_dir / _FOLDER


def load_grant(trust_dir: Path, workspace: str) -> Grant:
    """The grant of the workspace with this real path.

    An empty grant when there is none, or it cannot be read, or others may have written it;
    `save_grant` then raises the reason.
    """
    path = _grant_path(trust_dir, workspace)
    try:
        stored = _parse_grant(path, read_state_file(path))
    except InputError:
        return Grant()
    return stored.grant if stored.workspace == workspace else Grant()


def save_grant(trust_dir: Path, workspace: str, file: str, grant: Grant) -> None:
    """Replace the grant of the workspace. Raises InputError when it cannot be written."""
    record = {
        "version": 1,
        "workspace": workspace,
        "file": file,
        "digest": grant.digest,
        "allows": sorted(grant.lines),
        "at": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
    }
    path = _grant_path(trust_dir, workspace)
    with lock_folder(path.parent):
        replace_state_file(path, json.dumps(record, indent=1).encode())


def remove_grant(trust_dir: Path, workspace: str) -> bool:
    """Remove the grant of the workspace; False when there is none.

    Raises InputError when it cannot be removed.
    """
    path = _grant_path(trust_dir, workspace)
    if read_state_file(path) is None:
        return False
    with lock_folder(path.parent):
        remove(path)
    return True


def list_grants(trust_dir: Path) -> Iterator[StoredGrant]:
    """Every readable grant in the order of the workspaces' paths."""
    stored: list[StoredGrant] = []
    for path in grant_folder(trust_dir).glob("*.json"):
        with suppress(InputError):
            stored.append(_parse_grant(path, read_state_file(path)))
    yield from sorted(stored, key=lambda grant: grant.workspace)


def _grant_path(trust_dir: Path, workspace: str) -> Path:
    digits = lazy_imports.hex_sha256(workspace.encode("utf-8", "surrogateescape"))[:32]
    return grant_folder(trust_dir) / f"{digits}.json"


def _parse_grant(path: Path, data: bytes | None) -> StoredGrant:
    try:
        record: JsonObject = parse_json(data or b"")
        return StoredGrant(
            workspace=str(record["workspace"]),
            file=str(record["file"]),
            at=str(record["at"]),
            grant=Grant(digest=str(record["digest"]), lines=frozenset(map(str, record["allows"]))),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot read {path}", "remove it; capdisc trust asks again") from error
