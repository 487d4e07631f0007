"""Leases: a reader's hold on its generation, which keeps it from being removed until the reader is done or dead."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer.errors import IndexStateError

# What file systems without locks answer.
WITHOUT_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL})


def lease(path: Path) -> int:
    """A handle that keeps the generation of this lease file from being removed until it is closed.

    Never waits: raises IndexStateError when the generation is being removed. Where there are no locks it is only a
    handle; a generation stays until two newer ones are there.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise IndexStateError(f"{path.parent} is being removed", "try again") from error
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
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
    except OSError:
        yield False
        return
    try:
        yield _exclusive(handle)
    finally:
        os.close(handle)


def _exclusive(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in WITHOUT_LOCKS
    return True
