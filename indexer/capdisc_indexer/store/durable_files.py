"""Bytes and names that a power cut does not take away, and that only their owner can read."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store.mounts import find_mount

# What the operating system refused while the index was written, said so that one knows which disk
# to look at.

_OTHER_FOLDER_HINT = "or choose another folder with --index-dir DIR"
_HINTS = {
    errno.ENOSPC: f"free some space there, {_OTHER_FOLDER_HINT}",
    errno.EDQUOT: f"free some of your quota there, {_OTHER_FOLDER_HINT}",
    errno.EFBIG: "files may not grow that large here: raise the limit (ulimit -f)",
    errno.EMFILE: "raise the number of files that may be open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: end some programs",
    errno.ENOMEM: "free some memory, or raise the limit (ulimit -v)",
    errno.EAGAIN: "too many threads or too little memory: raise the limits (ulimit -u, ulimit -v)",
    errno.EROFS: f"mount it for writing, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EACCES: f"check its permissions, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EPERM: f"check its permissions, {_OTHER_FOLDER_HINT}; searching works without writing",
    errno.EIO: f"the disk may be failing: see the kernel's log (dmesg), {_OTHER_FOLDER_HINT}",
}


@contextmanager
def translate_disk_errors(index_dir: Path) -> Iterator[None]:
    """Turns an OSError from inside into an IndexStateError that says which disk it is about, and
    what to do.
    """
    try:
        yield
    except OSError as error:
        raise disk_error(error, index_dir) from error


def disk_error(error: OSError, index_dir: Path) -> IndexStateError:
    """The error, with the disk's name and a hint."""
    path = os.fsdecode(error.filename) if error.filename else str(index_dir)
    mount_point = find_mount(Path(path)).point or "unknown"
    reason = error.strerror or str(error)
    message = f"the index could not be brought up to date: {reason}: {path} (on the disk mounted at {mount_point})"
    return IndexStateError(
        message, _HINTS.get(error.errno or 0, f"check that disk, {_OTHER_FOLDER_HINT}")
    )


# What network and FUSE file systems answer for a folder.
_UNSYNCABLE_FOLDER_ERRNOS = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def sync_tree(top: Path) -> None:
    """Sync everything below the folder and the folder itself, and take others' rights to it away.

    The native libraries make their files as the umask says.
    """
    for parent, _, names in os.walk(top):
        for name in names:
            _sync_entry(Path(parent, name), 0o600)
        _sync_entry(Path(parent), 0o700)


def replace_file(path: Path, data: bytes) -> None:
    """Give the file this content in one step, synced before it gets its name; the name is not."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        # A name that is there was left by a killed writer, or came with a clone, as a link to
        # anywhere.
        with suppress(FileNotFoundError):
            temporary.unlink()
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(fd)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def sync_folder(path: Path) -> None:
    """Make the names in the folder durable, where its file system knows how."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_names(fd)
    finally:
        os.close(fd)


def _sync_entry(path: Path, mode: int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        # File systems without permissions refuse; what they show to others was decided when they
        # were mounted.
        with suppress(PermissionError, NotImplementedError):
            if stat.S_IMODE(status.st_mode) != mode:
                os.fchmod(fd, mode)
        if stat.S_ISDIR(status.st_mode):
            _sync_names(fd)
        else:
            os.fsync(fd)
    finally:
        os.close(fd)


def _sync_names(fd: int) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _UNSYNCABLE_FOLDER_ERRNOS:
            raise
