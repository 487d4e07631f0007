"""Locks that the kernel drops when their holder dies: one writer, and leases of readers."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer.errors import BusyError, IndexStateError

_POLL_SECONDS = 0.05


def private_folder(path: Path) -> None:
    """Make the folder, readable by its owner alone; what is inside reveals what someone's agents can do."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be made: {path} ({error.strerror})", "choose another with --index-dir DIR"
        ) from error


@contextmanager
def writer(index_dir: Path, timeout_s: float) -> Iterator[None]:
    """The right to publish; waits up to `timeout_s` seconds, then raises BusyError naming the holder."""
    private_folder(index_dir)
    try:
        handle = os.open(index_dir / "LOCK", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be written: {index_dir} ({error.strerror})",
            "choose another with --index-dir DIR; searching works without writing",
        ) from error
    try:
        _wait_for(handle, timeout_s)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _wait_for(handle: int, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if not time.monotonic() < deadline:  # so that a limit that is not a number does not wait for ever
                holder = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
                raise BusyError(
                    f"process {holder} is writing this index", "try again, or wait longer with --lock-timeout SECONDS"
                ) from error
            time.sleep(_POLL_SECONDS)


def lease(path: Path) -> int:
    """A handle that keeps the generation of this lease file from being removed until it is closed."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
    except OSError:
        os.close(handle)
        raise
    return handle


@contextmanager
def unused(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lease, and nobody can take it meanwhile."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(handle)
