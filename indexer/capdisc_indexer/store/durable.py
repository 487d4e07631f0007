"""Bytes and names that a power cut does not take away, and that only their owner can read."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

# What network and FUSE file systems answer for a folder.
_FOLDERS_ARE_NOT_SYNCED = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


def settle_tree(top: Path) -> None:
    """Sync everything below the folder and the folder itself, and take others' rights to it away.

    The native libraries make their files as the umask says.
    """
    for parent, _, names in os.walk(top):
        for name in names:
            _settle(Path(parent, name), 0o600)
        _settle(Path(parent), 0o700)


def replace(path: Path, data: bytes) -> None:
    """Give the file this content in one step, synced before it gets its name; the name is not."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        # A name that is there was left by a killed writer, or came with a clone, as a link to anywhere.
        with suppress(FileNotFoundError):
            fresh.unlink()
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def sync_folder(path: Path) -> None:
    """Make the names in the folder durable, where its file system knows how."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync_names(handle)
    finally:
        os.close(handle)


def _settle(path: Path, mode: int) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        # File systems without permissions refuse; what they show to others was decided when they were mounted.
        with suppress(PermissionError, NotImplementedError):
            if stat.S_IMODE(status.st_mode) != mode:
                os.fchmod(handle, mode)
        if stat.S_ISDIR(status.st_mode):
            _sync_names(handle)
        else:
            os.fsync(handle)
    finally:
        os.close(handle)


def _sync_names(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _FOLDERS_ARE_NOT_SYNCED:
            raise
