"""Put a new text in the place of a file that was read: in one step, and only if it still is that file."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from capdisc_indexer.errors import InputError
from capdisc_indexer.sources.files import FoundFile, printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def rewrite(file: FoundFile, data: bytes) -> None:
    """Replace the file, keeping its mode and owner. Raises InputError where a link leads to it, where it changed since
    it was read, and where it cannot be written."""
    shown = printable(file.path)
    name = os.path.basename(file.path)
    if os.path.islink(file.path) or os.path.basename(file.resolved) != name:  # noqa: PTH114
        raise InputError(f"{shown} is a link; not written", "name the file itself")
    try:
        folder = _open_folder(os.path.dirname(file.resolved))  # noqa: PTH120
        try:
            _replace(folder, name, file, data)
        finally:
            os.close(folder)
    except OSError as error:
        raise InputError(f"{shown} cannot be written: {error.strerror}", "check its permissions") from error


def _open_folder(path: str) -> int:
    """A handle on the folder, opened part by part, so that no link on the way is followed."""
    folder = os.open("/", _FOLDER)
    for part in path.strip("/").split("/"):
        if part:
            try:
                inner = os.open(part, _FOLDER, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
    return folder


def _replace(folder: int, name: str, file: FoundFile, data: bytes) -> None:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    seen = (file.inode, file.size, file.mtime_ns, file.ctime_ns)
    if not stat.S_ISREG(status.st_mode) or seen != (
        status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    ):  # fmt: skip
        raise InputError(f"{printable(file.path)} has changed since it was read; not written", "run the command again")
    fresh = f".{name}.{os.getpid()}.new"
    try:
        _write(os.open(fresh, _NEW, 0o600, dir_fd=folder), data, status)
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        raise


def _write(handle: int, data: bytes, like: os.stat_result) -> None:
    with open(handle, "wb") as stream:
        stream.write(data)
        with suppress(PermissionError):  # only its owner's group, or root, can give a file away
            os.fchown(handle, like.st_uid, like.st_gid)
        os.fchmod(handle, stat.S_IMODE(like.st_mode))
        stream.flush()
        os.fsync(handle)
