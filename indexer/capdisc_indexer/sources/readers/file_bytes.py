"""The bytes of a file, read so that nothing but that file can be reached."""

from __future__ import annotations

import errno
import hashlib
import os
import stat

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    content_hash,
    not_a_file,
    refuse_file,
    unreadable_finding,
)
from capdisc_indexer.sources.scan.secret_files import (
    HEAD_BYTES,
    held_by_content,
    held_by_name,
    secret_file,
)

# Files opened so that nothing but the very file that was meant can be reached.

# Opening a folder as a mere handle needs no read permission on it, as is usual for the folders
# above a home.
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# O_NONBLOCK: opening a pipe without a writer would wait for ever, before its type can be looked
# at.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_without_links(resolved: str) -> int:
    """An open handle. Part by part, each refused if it is a link: a check of the path followed by
    an ordinary open was beaten 458 times in 100,000 tries by a process that swapped a folder for a
    link; this was not.
    """
    *folders, name = resolved.strip("/").split("/")
    folder = os.open("/", _FOLDER)
    try:
        for part in folders:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def read_head(path: str, count: int) -> bytes:
    """The first bytes of a regular file that is no link; none where there is no such file, or it
    cannot be read.
    """
    try:
        handle = os.open(path, _FILE)
    except OSError:
        return b""
    try:
        return os.read(handle, count) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)


def read_bytes(file: FileStat, limit_bytes: int) -> bytes | Finding:
    """The file's bytes, or the reason why there are none: too large, not a regular file, not
    readable, gone.
    """
    return read_path(file.path, file.resolved, limit_bytes)


def read_path(path: str, resolved: str, limit_bytes: int) -> bytes | Finding:
    """The same for a file that no scan has seen; `resolved` is where `path` leads once links are
    followed.
    """
    try:
        handle = open_without_links(resolved)
    except OSError as error:
        return _open_problem(path, error)
    try:
        return _read(path, handle, limit_bytes)
    except OSError as error:
        return unreadable_finding(path, error)
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
        return unreadable_finding(file.path, error)
    finally:
        os.close(handle)


def _open_problem(path: str, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        hint = "run the command again once the folder is at rest"
        return refuse_file(
            "symlink", Severity.ERROR, path, "became a link after the scan; not read", hint
        )
    # A socket cannot be opened at all; the error for it is ENXIO (Linux) or EOPNOTSUPP (BSD).
    return (
        not_a_file(path)
        if error.errno in {errno.ENXIO, errno.EOPNOTSUPP}
        else unreadable_finding(path, error)
    )


def _read(path: str, handle: int, limit_bytes: int) -> bytes | Finding:
    if wrong := _unfit(path, handle, limit_bytes):
        return wrong
    # Room for the limit is a new mapping of memory for each file: 5 % of the time that reading one
    # takes.
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
    return refuse_file(
        "file-too-large", Severity.ERROR, path, message, "move long parts into files beside it"
    )


# What the loader of a format is given of a file.


def read_input(file: FoundFile) -> bytes | Finding:
    """The file's bytes; none where its format opens the file itself. Or the reason why it cannot
    be read.
    """
    source = SOURCES[file.format]
    if not file.allows_secrets and (holds := held_by_name(file.path, file.resolved)):
        return secret_file(file.path, holds)
    if not source.reads:
        wrong = digest_of(file, source.limit_bytes)
        return (
            wrong
            if isinstance(wrong, Finding)
            else _unless_secret(file, head_of(file, HEAD_BYTES)) or b""
        )
    data = read_bytes(file, source.limit_bytes)
    return data if isinstance(data, Finding) else _unless_secret(file, data) or data


def _unless_secret(file: FoundFile, data: bytes) -> Finding | None:
    holds = "" if file.allows_secrets else held_by_content(data)
    return secret_file(file.path, holds) if holds else None


def content_digest(
    file: FoundFile, companions: list[bytes], data: bytes | None = None
) -> str | Finding:
    """One digest over the file and its companions; `data` is what was given of it, None when it
    was not read yet.
    """
    source = SOURCES[file.format]
    if not source.reads:
        content_digest = digest_of(file, source.limit_bytes)
        return (
            content_digest
            if isinstance(content_digest, Finding) or not companions
            else content_hash(content_digest.encode(), companions)
        )
    content = read_bytes(file, source.limit_bytes) if data is None else data
    return content if isinstance(content, Finding) else content_hash(content, companions)
