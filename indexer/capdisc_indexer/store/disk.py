"""What the operating system refused while the index was written, said so that one knows which disk to look at."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer.errors import IndexStateError
from capdisc_indexer.store.filesystem import mount_of

_ELSEWHERE = "or choose another folder with --index-dir DIR"
_HINTS = {
    errno.ENOSPC: f"free some space there, {_ELSEWHERE}",
    errno.EDQUOT: f"free some of your quota there, {_ELSEWHERE}",
    errno.EFBIG: "files may not grow that large here: raise the limit (ulimit -f)",
    errno.EMFILE: "raise the number of files that may be open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: end some programs",
    errno.ENOMEM: "free some memory, or raise the limit (ulimit -v)",
    errno.EAGAIN: "too many threads or too little memory: raise the limits (ulimit -u, ulimit -v)",
    errno.EROFS: f"mount it for writing, {_ELSEWHERE}; searching works without writing",
    errno.EACCES: f"check its permissions, {_ELSEWHERE}; searching works without writing",
    errno.EPERM: f"check its permissions, {_ELSEWHERE}; searching works without writing",
    errno.EIO: f"the disk may be failing: see the kernel's log (dmesg), {_ELSEWHERE}",
}


@contextmanager
def named(index_dir: Path) -> Iterator[None]:
    """Turns an OSError from inside into an IndexStateError that says which disk it is about, and what to do."""
    try:
        yield
    except OSError as error:
        raise refused(error, index_dir) from error


def refused(error: OSError, index_dir: Path) -> IndexStateError:
    """The error, with the disk's name and a hint."""
    where = os.fsdecode(error.filename) if error.filename else str(index_dir)
    place = mount_of(Path(where)).point or "unknown"
    reason = error.strerror or str(error)
    message = f"the index could not be brought up to date: {reason}: {where} (on the disk mounted at {place})"
    return IndexStateError(message, _HINTS.get(error.errno or 0, f"check that disk, {_ELSEWHERE}"))
