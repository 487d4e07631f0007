"""A file as the scan saw it, and its bytes, read so that nothing but that file can be reached."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.frozen import field, frozen
from capdisc_indexer.sources.opening import open_without_links
from capdisc_indexer.types import Finding, Severity, SourceRef

# What changed again within its time stamp's grain looks unchanged; only older stamps are believed.
GRAIN_NS = 2_000_000_000


@frozen(kw_only=True)
class FileStat:
    """What tells a changed file without reading it. `resolved` is `path` with every link followed."""

    path: str
    resolved: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@frozen(kw_only=True)
class FoundFile(FileStat):
    """One file to load. `path` is absolute and keeps its links; `relative` is `path` below `root`, with slashes.

    `companions` are files that count as part of this one: it has changed when one of them has; `lost` says of each that
    has the name of one and cannot be it, such as a link out of the folder, why. Files that a manifest
    only names (`skillContent: docs/long.md`) are not among them, since a scan does not read manifests: a change there
    is seen when the manifest changes too, or when everything is read again (`index --verify`, `--rebuild`).
    `is_declared` says that a declaration tells the format, not the file's name; `name` and `options` are what it says
    beyond that, `is_alone` that it means this very file, not a folder with it.
    """

    relative: str
    root: str
    root_order: int
    format: str
    companions: tuple[FileStat, ...] = ()
    lost: tuple[Finding, ...] = ()
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    is_alone: bool = False
    is_declared: bool = False


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


def content_hash(data: bytes, companions: Sequence[bytes] = ()) -> str:
    """SHA-256 of a file and its companions, as hexadecimal digits; alone, a file has its ordinary digest."""
    digest = hashlib.sha256(data)
    for companion in companions:
        digest.update(b"\0%d\0" % len(companion))
        digest.update(companion)
    return digest.hexdigest()


def unreadable(path: str, error: OSError) -> Finding:
    """The finding for a file or folder that the operating system would not give."""
    if isinstance(error, FileNotFoundError):
        return _finding("vanished", Severity.WARNING, path, "is gone since the scan", "run the command again")
    reason = error.strerror or "unknown error"
    return _finding("path-unreadable", Severity.ERROR, path, f"cannot be read: {reason}", "check its permissions")


def not_a_file(path: str) -> Finding:
    """The finding for a folder, pipe, socket or device where a file is due."""
    return _finding("path-not-file", Severity.ERROR, path, "is not a regular file", "put a regular file in its place")


def source_ref(file: FoundFile, digest: str, pointer: str = "") -> SourceRef:
    """Where a capability of this file comes from, as text that can be stored and printed."""
    return SourceRef(
        path=printable(file.path), format=file.format, pointer=pointer, content_hash=digest, root=printable(file.root)
    )


def printable(path: str) -> str:
    """The path as text that can be encoded: bytes that are not UTF-8 show as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _finding(code: str, severity: Severity, path: str, message: str, hint: str) -> Finding:
    name = printable(os.path.basename(path))
    return Finding(code=code, severity=severity, message=f"{name} {message}", hint=hint, path=printable(path))


def _open_problem(path: str, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        hint = "run the command again once the folder is at rest"
        return _finding("symlink", Severity.ERROR, path, "became a link after the scan; not read", hint)
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
    return _finding("file-too-large", Severity.ERROR, path, message, "move long parts into files beside it")
