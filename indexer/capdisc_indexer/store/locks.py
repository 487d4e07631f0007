"""The write lock: one writer at a time, by a lock that the kernel drops when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.errors import BusyError, IndexStateError
from capdisc_indexer.store import holder
from capdisc_indexer.store.filesystem import mount_of
from capdisc_indexer.store.leases import WITHOUT_LOCKS
from capdisc_indexer.store.permissions import check_own, private_folder

_POLL_SECONDS = 0.05
_LONGER = "try again, or wait longer with --lock-timeout SECONDS"


@contextmanager
def writer(index_dir: Path, timeout_s: float) -> Iterator[None]:
    """The right to publish; waits up to `timeout_s` seconds, then raises BusyError naming the holder.

    Raises IndexStateError where this user may not write, or others may too.
    """
    private_folder(index_dir)
    check_own(index_dir)
    handle = _opened(index_dir)
    try:
        _wait_for(handle, index_dir, timeout_s)
        _refuse_another_host(index_dir, handle)
        holder.sign(handle)
        try:
            yield
        finally:
            holder.unsign(handle)
    finally:
        os.close(handle)


def _opened(index_dir: Path) -> int:
    try:
        return os.open(index_dir / "LOCK", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexStateError(
            f"the index folder cannot be written: {index_dir} ({error.strerror})",
            "choose another with --index-dir DIR; searching works without writing",
        ) from error


def had_within(handle: int, timeout_s: float, poll_s: float) -> bool:
    """Whether the file could be locked for this process alone within the time. Raises OSError where it has no locks."""
    deadline = time.monotonic() + timeout_s
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if not time.monotonic() < deadline:  # so that a limit that is not a number does not wait for ever
            return False
        time.sleep(poll_s)


def _wait_for(handle: int, index_dir: Path, timeout_s: float) -> None:
    try:
        was_had = had_within(handle, timeout_s, _POLL_SECONDS)
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise
        # The text engine could not write there either.
        what = f"{index_dir} is on a file system without locks, where two writers would not see each other"
        raise IndexStateError(what, "choose another with --index-dir DIR") from error
    if not was_had:
        who = holder.read(handle) or "another process"
        raise BusyError(f"{who} is writing this index", _LONGER)


def _refuse_another_host(index_dir: Path, handle: int) -> None:
    """Raises BusyError where another machine's writer left its name and a lock may not reach from there to here."""
    found = holder.read(handle)
    if found and found.is_elsewhere and mount_of(index_dir).shared:
        hint = f"locks may not be shared on this file system: if it is gone, run: rm {index_dir / 'LOCK'}"
        raise BusyError(f"{found} is writing this index, or was ended while it did", hint)


def held_by(index_dir: Path) -> tuple[bool, holder.Holder | None]:
    """Whether someone is writing now, and whose name stands in the lock file. Writes nothing."""
    try:
        handle = os.open(index_dir / "LOCK", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False, None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        held = False
    except BlockingIOError:
        held = True
    except OSError:
        held = False
    try:
        return held, holder.read(handle)
    finally:
        os.close(handle)
