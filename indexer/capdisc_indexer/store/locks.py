"""Locks an index: one writer at a time, and leases that keep a generation while it is read.

Both are locks of the kernel, which drops them when their process dies. The name of the writer in
the lock file is for people, and for machines that share a disk but not its locks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import system
from capdisc_indexer.store.durable_files import check_ownership, find_mount, make_private_folder

_MAX_BYTES = 300


@frozen(kw_only=True)
class LockHolder:
    """A process that wrote its name into the lock file and has not removed it yet."""

    pid: int
    host: str

    @property
    def is_on_other_host(self) -> bool:
        """Whether it ran on another machine, whose processes cannot be seen from here."""
        return self.host != system.host_name()

    @property
    def state(self) -> str:
        """One of "on HOST", "running", "stopped" and "gone"."""
        return f"on {self.host}" if self.is_on_other_host else system.process_state(self.pid)

    def __str__(self) -> str:
        state = self.state
        return f"process {self.pid}" if state == "running" else f"process {self.pid} ({state})"


def write_holder(fd: int) -> None:
    """Write the name of this process into the lock file; errors are ignored.

    The name only helps people, and a full disk is noticed later.
    """
    with suppress(OSError):
        system.overwrite_file(fd, f"{os.getpid()} {system.host_name()}\n".encode())


def clear_holder(fd: int) -> None:
    """Remove the name from the lock file."""
    with suppress(OSError):
        os.ftruncate(fd, 0)


def read_holder(fd: int) -> LockHolder | None:
    """The process whose name is in the lock file; None when there is none."""
    pid, _, host = (
        system.read_at(fd, _MAX_BYTES, 0).decode(errors="replace").strip().partition(" ")
    )
    if not pid.isdigit() or len(pid) >= 20:
        return None
    return LockHolder(pid=int(pid), host=host or system.host_name())


def acquire_lease(path: Path) -> int:
    """A file descriptor that keeps the generation of this lease file until it is closed.

    Never waits: raises IndexStateError when the generation is being removed. On a file system
    without locks the descriptor protects nothing; a generation is removed when there are two newer
    ones.
    """
    fd = system.open_file(path, follow_link=True)
    try:
        system.lock_file(fd, is_shared=True)
    except BlockingIOError as error:
        os.close(fd)
        raise IndexStateError(f"{path.parent} is being removed", "try again") from error
    except OSError as error:
        if error.errno not in system.NO_LOCK_ERRNOS:
            os.close(fd)
            raise
    return fd


@contextmanager
def shared_lease(path: Path) -> Iterator[None]:
    """Keeps the generation of this lease file while inside; raises what `acquire_lease` raises."""
    fd = acquire_lease(path)
    try:
        yield
    finally:
        os.close(fd)


@contextmanager
def try_exclusive(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lease; inside the block nobody can take it."""
    try:
        fd = system.open_file(path, follow_link=True)
    except FileNotFoundError:
        yield True
        return
    except OSError:
        yield False
        return
    try:
        yield _lock_exclusively(fd)
    finally:
        os.close(fd)


def _lock_exclusively(fd: int) -> bool:
    try:
        system.lock_file(fd)
    except OSError as error:
        return error.errno in system.NO_LOCK_ERRNOS
    return True


_POLL_SECONDS = 0.05
_WAIT_HINT = "try again, or wait longer with --lock-timeout SECONDS"


@contextmanager
def write_lock(index_dir: Path, timeout_s: float) -> Iterator[None]:
    """Holds the lock that a writer needs to publish.

    Waits up to `timeout_s` seconds, then raises BusyError naming the holder. Raises
    IndexStateError when this user may not write to the index, or others may.
    """
    make_private_folder(index_dir)
    check_ownership(index_dir)
    fd = _open_lock_file(index_dir)
    try:
        _wait_for_lock(fd, index_dir, timeout_s)
        _refuse_another_host(index_dir, fd)
        write_holder(fd)
        try:
            yield
        finally:
            clear_holder(fd)
    finally:
        os.close(fd)


def _open_lock_file(index_dir: Path) -> int:
    try:
        return system.open_or_create(index_dir / "LOCK")
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be written: {index_dir} ({error.strerror})",
            "choose another with --index-dir DIR; searching works without writing",
        ) from error


def acquire_within(fd: int, timeout_s: float, poll_s: float) -> bool:
    """Whether this process got the exclusive lock of the file within `timeout_s` seconds.

    Raises OSError on a file system without locks.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        with suppress(BlockingIOError):
            system.lock_file(fd)
            return True
        if not time.monotonic() < deadline:  # not `>=`: a timeout of NaN must not wait for ever
            return False
        time.sleep(poll_s)


def _wait_for_lock(fd: int, index_dir: Path, timeout_s: float) -> None:
    try:
        is_acquired = acquire_within(fd, timeout_s, _POLL_SECONDS)
    except OSError as error:
        if error.errno not in system.NO_LOCK_ERRNOS:
            raise
        # The text engine could not write there either.
        raise IndexStateError(
            f"{index_dir} is on a file system without locks, "
            "where two writers would not see each other",
            "choose another with --index-dir DIR",
        ) from error
    if not is_acquired:
        holder = read_holder(fd) or "another process"
        raise BusyError(f"{holder} is writing this index", _WAIT_HINT)


def _refuse_another_host(index_dir: Path, fd: int) -> None:
    """Raises BusyError when a writer on another machine left its name and locks may not be shared
    between the machines.
    """
    holder = read_holder(fd)
    if holder and holder.is_on_other_host and find_mount(index_dir).is_shared:
        raise BusyError(
            f"{holder} is writing this index, or was ended while it did",
            "locks may not be shared on this file system: "
            f"if it is gone, run: rm {index_dir / 'LOCK'}",
        )


def lock_status(index_dir: Path) -> tuple[bool, LockHolder | None]:
    """Whether a process is writing now, and the process named in the lock file. Writes nothing."""
    try:
        fd = system.open_file(index_dir / "LOCK", follow_link=True)
    except OSError:
        return False, None
    try:
        system.lock_file(fd, is_shared=True)
        is_locked = False
    except BlockingIOError:
        is_locked = True
    except OSError:
        is_locked = False
    try:
        return is_locked, read_holder(fd)
    finally:
        os.close(fd)
