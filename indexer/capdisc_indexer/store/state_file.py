"""A small file that several processes change: one at a time, whole or not at all, and never
through a link.

What is kept so cannot be made again, and it goes into prompts: nobody but its owner may write
where it lies.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import BusyError, IndexStateError, InputError
from capdisc_indexer.store.durable_files import sync_folder
from capdisc_indexer.store.locks import acquire_within
from capdisc_indexer.store.permissions import find_permission_flaw, make_private_folder

MAX_BYTES = 4 * 1024 * 1024
_WAIT_SECONDS = 10.0
_POLL_SECONDS = 0.01
_OTHER_FOLDER_HINT = "or choose another folder with CAPDISC_STATE_DIR"


def read_state_file(path: Path) -> bytes | None:
    """The bytes of a regular file of this user, None where there is none. Raises InputError for
    anything else.
    """
    _check_folder(path.parent)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _state_file_error("read", path, _reason(path, error)) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _state_file_error("read", path, "it is no plain file")
        with os.fdopen(fd, "rb", closefd=False) as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _state_file_error("read", path, _reason(path, error)) from error
    finally:
        os.close(fd)
    if len(data) > MAX_BYTES:
        raise _state_file_error("read", path, f"it has more than {MAX_BYTES // 1024 // 1024} MiB")
    return data


@contextmanager
def lock_folder(folder: Path, timeout_s: float = _WAIT_SECONDS) -> Iterator[None]:
    """The right to change the files of the folder, which is made where it is missing: read, decide
    and write inside.

    Raises BusyError when another process keeps it for longer than `timeout_s` seconds, InputError
    where this user may not write or others may.
    """
    _make_folder(folder)
    try:
        fd = os.open(folder / "LOCK", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _state_file_error(
            "write", folder / "LOCK", _reason(folder / "LOCK", error)
        ) from error
    try:
        _wait_for_lock(fd, folder, timeout_s)
        yield
    finally:
        os.close(fd)


def replace_state_file(path: Path, data: bytes) -> None:
    """Give the file this content in one step, readable for its owner alone. Only inside
    `lock_folder`.

    Raises InputError where a link or a folder has the name, where the disk refuses, or for more
    than 4 MiB.
    """
    if len(data) > MAX_BYTES:
        raise _state_file_error(
            "write", path, f"it would have more than {MAX_BYTES // 1024 // 1024} MiB"
        )
    if path.is_symlink() or path.is_dir():
        raise _state_file_error("write", path, "it is no plain file")
    temporary = path.with_name(f".{path.name}.new")
    try:
        _write_new(temporary, data)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise _state_file_error("write", path, error.strerror or str(error)) from error


def remove(path: Path) -> None:
    """Take the file away, so that a power cut does not bring it back. Only inside `lock_folder`.

    Raises InputError where the disk refuses.
    """
    try:
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise _state_file_error("remove", path, error.strerror or str(error)) from error


def _write_new(path: Path, data: bytes) -> None:
    with suppress(FileNotFoundError):  # left by a process that was ended while it wrote
        path.unlink()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(fd)


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
    if reason := find_permission_flaw(folder, {os.geteuid()}):
        hint = f"run: chmod go-w {reason[0]}" if "others" in reason[1] else "run this as that user"
        raise InputError(f"not using {reason[0]}: {reason[1]}", f"{hint}; {_OTHER_FOLDER_HINT}")


def _wait_for_lock(fd: int, folder: Path, timeout_s: float) -> None:
    try:
        was_had = acquire_within(fd, timeout_s, _POLL_SECONDS)
    except OSError as error:
        raise _state_file_error("lock", folder, error.strerror or str(error)) from error
    if not was_had:
        raise BusyError(f"another process is changing {folder}", "try again")


def _reason(path: Path, error: OSError) -> str:
    return "it is a link" if path.is_symlink() else error.strerror or str(error)


def _state_file_error(verb: str, path: Path, why: str) -> InputError:
    return InputError(f"cannot {verb} {path}: {why}", f"move it away, {_OTHER_FOLDER_HINT}")
