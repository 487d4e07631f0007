"""The write lock: one writer at a time, by a lock that the kernel drops when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store.durable_files import check_ownership, find_mount, make_private_folder

# Who holds the write lock: told to people, and to machines that share a disk but not its locks.

_MAX_BYTES = 300


@frozen(kw_only=True)
class LockHolder:
    """A process that wrote its name into the lock file, and has not taken it out again."""

    pid: int
    host: str

    @property
    def is_on_other_host(self) -> bool:
        """Whether it ran on another machine, where nothing can be seen of it."""
        return self.host != os.uname().nodename

    @property
    def state(self) -> str:
        """One of "on HOST", "running", "stopped" and "gone"."""
        if self.is_on_other_host:
            return f"on {self.host}"
        try:
            # proc_pid_stat(5): the name in brackets may hold anything, the state follows it.
            letter = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "gone" if Path("/proc/self").exists() else "running"
        return {"T": "stopped", "t": "stopped", "Z": "gone", "X": "gone"}.get(letter, "running")

    def __str__(self) -> str:
        state = self.state
        return f"process {self.pid}" if state == "running" else f"process {self.pid} ({state})"


def write_holder(fd: int) -> None:
    """Write this process's name; it helps people, and a disk that is too full for it is noticed
    later.
    """
    with suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {os.uname().nodename}\n".encode(), 0)


def clear_holder(fd: int) -> None:
    """Take the name out again."""
    with suppress(OSError):
        os.ftruncate(fd, 0)


def read_holder(fd: int) -> LockHolder | None:
    """Whose name stands in the lock file, if anyone's."""
    pid, _, host = os.pread(fd, _MAX_BYTES, 0).decode(errors="replace").strip().partition(" ")
    return (
        LockHolder(pid=int(pid), host=host or os.uname().nodename)
        if pid.isdigit() and len(pid) < 20
        else None
    )


# Leases: a reader's hold on its generation, which keeps it from being removed until the reader is
# done or dead.

# What file systems without locks answer.
NO_LOCK_ERRNOS = frozenset(
    {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
)


def acquire_lease(path: Path) -> int:
    """A handle that keeps the generation of this lease file from being removed until it is closed.

    Never waits: raises IndexStateError when the generation is being removed. Where there are no
    locks it is only a handle; a generation stays until two newer ones are there.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(fd)
        raise IndexStateError(f"{path.parent} is being removed", "try again") from error
    except OSError as error:
        if error.errno not in NO_LOCK_ERRNOS:
            os.close(fd)
            raise
    return fd


@contextmanager
def try_exclusive(path: Path) -> Iterator[bool]:
    """Whether nobody holds the lease, and nobody can take it meanwhile."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
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
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in NO_LOCK_ERRNOS
    return True


_POLL_SECONDS = 0.05
_WAIT_HINT = "try again, or wait longer with --lock-timeout SECONDS"


@contextmanager
def write_lock(index_dir: Path, timeout_s: float) -> Iterator[None]:
    """The right to publish; waits up to `timeout_s` seconds, then raises BusyError naming the
    holder.

    Raises IndexStateError where this user may not write, or others may too.
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
        return os.open(
            index_dir / "LOCK", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be written: {index_dir} ({error.strerror})",
            "choose another with --index-dir DIR; searching works without writing",
        ) from error


def acquire_within(fd: int, timeout_s: float, poll_s: float) -> bool:
    """Whether the file could be locked for this process alone within the time. Raises OSError
    where it has no locks.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if (
            not time.monotonic() < deadline
        ):  # so that a limit that is not a number does not wait for ever
            return False
        time.sleep(poll_s)


def _wait_for_lock(fd: int, index_dir: Path, timeout_s: float) -> None:
    try:
        was_had = acquire_within(fd, timeout_s, _POLL_SECONDS)
    except OSError as error:
        if error.errno not in NO_LOCK_ERRNOS:
            raise
        # The text engine could not write there either.
        message = f"{index_dir} is on a file system without locks, where two writers would not see each other"
        raise IndexStateError(message, "choose another with --index-dir DIR") from error
    if not was_had:
        holder = read_holder(fd) or "another process"
        raise BusyError(f"{holder} is writing this index", _WAIT_HINT)


def _refuse_another_host(index_dir: Path, fd: int) -> None:
    """Raises BusyError where another machine's writer left its name and a lock may not reach from
    there to here.
    """
    holder = read_holder(fd)
    if holder and holder.is_on_other_host and find_mount(index_dir).is_shared:
        hint = f"locks may not be shared on this file system: if it is gone, run: rm {index_dir / 'LOCK'}"
        raise BusyError(f"{holder} is writing this index, or was ended while it did", hint)


def lock_status(index_dir: Path) -> tuple[bool, LockHolder | None]:
    """Whether someone is writing now, and whose name stands in the lock file. Writes nothing."""
    try:
        fd = os.open(index_dir / "LOCK", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False, None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        is_locked = False
    except BlockingIOError:
        is_locked = True
    except OSError:
        is_locked = False
    try:
        return is_locked, read_holder(fd)
    finally:
        os.close(fd)
