"""The bytes of a file, read so that nothing but that file can be reached."""

from __future__ import annotations

import errno
import hashlib
import os
import stat

from capdisc_indexer.sources.files import FileStat, not_a_file, refused, unreadable
from capdisc_indexer.sources.opening import open_without_links
from capdisc_indexer.types import Finding, Severity


def read_bytes(file: FileStat, limit_bytes: int) -> bytes | Finding:
    """The file's bytes, or the reason why there are none: too large, not a regular file, not readable, gone."""
    return read_path(file.path, file.resolved, limit_bytes)


def read_path(path: str, resolved: str, limit_bytes: int) -> bytes | Finding:
    """The same for a file that no scan has seen; `resolved` is where `path` leads once links are followed."""
    try:
        handle = open_without_links(resolved)
    except OSError as error:
        return _open_problem(path, error)
    try:
        return _read(path, handle, limit_bytes)
    except OSError as error:
        return unreadable(path, error)
    finally:
        os.close(handle)


def head_of(file: FileStat, count: int) -> bytes:
    """The file's first bytes; none where it cannot be read."""
    try:
        handle = open_without_links(file.resolved)
    except OSError:
        return b""
    try:
        return os.read(handle, count) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)


def digest_of(file: FileStat, limit_bytes: int) -> str | Finding:
    """SHA-256 of a file that may be too large to hold, or the reason why there is none."""
    try:
        handle = open_without_links(file.resolved)
    except OSError as error:
        return _open_problem(file.path, error)
    try:
        wrong = _unfit(file.path, handle, limit_bytes)
        with open(handle, "rb", closefd=False) as stream:
            return wrong or hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return unreadable(file.path, error)
    finally:
        os.close(handle)


def _open_problem(path: str, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        hint = "run the command again once the folder is at rest"
        return refused("symlink", Severity.ERROR, path, "became a link after the scan; not read", hint)
    # A socket cannot be opened at all; the error for it is ENXIO (Linux) or EOPNOTSUPP (BSD).
    return not_a_file(path) if error.errno in {errno.ENXIO, errno.EOPNOTSUPP} else unreadable(path, error)


def _read(path: str, handle: int, limit_bytes: int) -> bytes | Finding:
    if wrong := _unfit(path, handle, limit_bytes):
        return wrong
    # Room for the limit is a new mapping of memory for each file: 5 % of the time that reading one takes.
    size = min(os.fstat(handle).st_size, limit_bytes)
    with open(handle, "rb", buffering=0, closefd=False) as stream:
        data = stream.read(size + 1) or b""
        if len(data) > size:  # it grew meanwhile, or its file system does not say
            data += stream.read(limit_bytes + 1 - len(data)) or b""
    return data if len(data) <= limit_bytes else _too_large(path, limit_bytes)


def _unfit(path: str, handle: int, limit_bytes: int) -> Finding | None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        return not_a_file(path)
    return _too_large(path, limit_bytes) if status.st_size > limit_bytes else None


def _too_large(path: str, limit_bytes: int) -> Finding:
    message = f"is larger than {limit_bytes // 1024} KiB"
    return refused("file-too-large", Severity.ERROR, path, message, "move long parts into files beside it")
