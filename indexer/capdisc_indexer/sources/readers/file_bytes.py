"""The contents of a file: its bytes, opened so that no link can lead to another file, their
digest, and their text, which must be UTF-8.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import TypeVar

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.scanned_files import (
    HEAD_BYTES,
    FileStat,
    FoundFile,
    content_hash,
    held_by_content,
    held_by_name,
    not_a_file,
    refuse_file,
    secret_file,
    unreadable_finding,
)

T = TypeVar("T")
_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def read_head(path: str, count: int) -> bytes:
    """The first bytes of a regular file that is not a link; b"" for any other, and if it cannot be
    read.
    """
    try:
        handle = system.open_file(path)
    except OSError:
        return b""
    try:
        return os.read(handle, count) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)


def read_bytes(file: FileStat, limit_bytes: int) -> bytes | Finding:
    """The file's bytes, or the finding that says why there are none: too large, not a regular
    file, not readable, gone.
    """
    return read_path(file.path, file.resolved, limit_bytes)


def read_path(path: str, resolved: str, limit_bytes: int) -> bytes | Finding:
    """The bytes of a file that no scan has seen; `resolved` is `path` with all links followed."""
    data = _read_open(path, resolved, limit_bytes, lambda handle: _read(handle, limit_bytes))
    is_large = isinstance(data, bytes) and len(data) > limit_bytes  # it grew meanwhile
    return _too_large(path, limit_bytes) if is_large else data


def _digest_of(file: FileStat, limit_bytes: int) -> str | Finding:
    """SHA-256 of a file, which may exceed memory, or the finding that says why there is none."""
    return _read_open(file.path, file.resolved, limit_bytes, _digest)


def _digest(handle: int) -> str:
    import hashlib  # 4 ms, which a file read whole does without

    with open(handle, "rb", closefd=False) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_open(
    path: str, resolved: str, limit_bytes: int, read: Callable[[int], T]
) -> T | Finding:
    """What `read` makes of the open file, or the finding that says why it cannot be read."""
    try:
        handle = system.open_without_links(resolved)
    except OSError as error:
        return _open_problem(path, error)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return not_a_file(path)
        return _too_large(path, limit_bytes) if status.st_size > limit_bytes else read(handle)
    except OSError as error:
        return unreadable_finding(path, error)
    finally:
        os.close(handle)


def _open_problem(path: str, error: OSError) -> Finding:
    if error.errno == errno.ELOOP:
        hint = "run the command again once the folder is at rest"
        return refuse_file(
            "symlink", Severity.ERROR, path, "became a link after the scan; not read", hint
        )
    # A socket cannot be opened at all; the error for it is ENXIO (Linux) or EOPNOTSUPP (BSD).
    if error.errno in {errno.ENXIO, errno.EOPNOTSUPP}:
        return not_a_file(path)
    return unreadable_finding(path, error)


def _read(handle: int, limit_bytes: int) -> bytes:
    """The bytes of the file, and one more than the limit where there are more."""
    # A buffer as large as the limit would be a new mapping of memory for each file: 5 % of the
    # time of reading it.
    size = min(os.fstat(handle).st_size, limit_bytes)
    with open(handle, "rb", buffering=0, closefd=False) as stream:
        data = stream.read(size + 1) or b""
        if len(data) > size:  # it grew meanwhile, or its file system gives no size
            data += stream.read(limit_bytes + 1 - len(data)) or b""
    return data


def _too_large(path: str, limit_bytes: int) -> Finding:
    message = f"is larger than {limit_bytes // 1024:,} KiB"
    return refuse_file(
        "file-too-large", Severity.ERROR, path, message, "move long parts into separate files"
    )


def read_input(file: FoundFile) -> bytes | Finding:
    """The bytes for the loader of the file's format, which are b"" if the loader opens the file
    itself; or the finding that says why it cannot be read.
    """
    source = SOURCES[file.format]
    if not file.allows_secrets and (holds := held_by_name(file.path, file.resolved)):
        return secret_file(file.path, holds)
    if not source.reads:
        limit = source.limit_bytes
        head = _read_open(
            file.path, file.resolved, limit, lambda handle: os.read(handle, HEAD_BYTES)
        )
        return head if isinstance(head, Finding) else _secret_finding(file, head) or b""
    data = read_bytes(file, source.limit_bytes)
    return data if isinstance(data, Finding) else _secret_finding(file, data) or data


def _secret_finding(file: FoundFile, data: bytes) -> Finding | None:
    holds = "" if file.allows_secrets else held_by_content(data)
    return secret_file(file.path, holds) if holds else None


def content_digest(
    file: FoundFile, companions: list[bytes], data: bytes | None = None
) -> str | Finding:
    """One digest over the file and its companions; `data` are the file's bytes, None if it was not
    read yet.
    """
    source = SOURCES[file.format]
    if not source.reads:
        digest = _digest_of(file, source.limit_bytes)
        if isinstance(digest, Finding) or not companions:
            return digest
        return content_hash(digest.encode(), companions)
    content = read_bytes(file, source.limit_bytes) if data is None else data
    return content if isinstance(content, Finding) else content_hash(content, companions)


def decode(data: bytes, path: str) -> str | Finding:
    """The text without byte order mark and with `\\n` as its only line end, or the finding that
    says why the data is not text.
    """
    if wide := wide_finding(data, path):
        return wide
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        message = f"byte {error.start + 1} (0x{data[error.start]:02X}) is not UTF-8"
        return _problem("encoding", message, "save it as UTF-8", path, data, error.start)
    if "\0" in text:
        message = "the file holds a NUL byte"
        return _problem("control-character", message, "remove it", path, data, data.index(b"\0"))
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return text if "\n" in text else text.replace("\r", "\n")


def wide_finding(data: bytes, path: str) -> Finding | None:
    """The finding for a file in UTF-16 or UTF-32; None for any other."""
    if encoding := _wide_encoding(data):
        message = f"the file is {encoding}, not UTF-8"
        return _problem("encoding", message, "save it as UTF-8", path, data, 0)
    return None


def mark_finding(data: bytes, path: str) -> tuple[Finding, ...]:
    """Notices for a UTF-8 byte order mark, which some other readers refuse, and for two kinds of
    line ends; both are accepted here.
    """
    findings = []
    if data.startswith(b"\xef\xbb\xbf"):
        message, hint = "the file begins with a byte order mark", "save it as UTF-8 without a mark"
        findings.append(Finding("byte-order-mark", Severity.INFO, message, hint, path))
    if 0 < data.count(b"\r\n") < data.count(b"\n"):
        message = "some lines end with CR LF and some with LF"
        hint = "save it with one kind of line end"
        findings.append(Finding("line-ends-mixed", Severity.INFO, message, hint, path))
    return tuple(findings)


def _wide_encoding(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    # Without a mark, ordinary letters in UTF-16 show as every other byte being NUL.
    head = data[:64]
    looks_wide = len(head) >= 4 and (not any(head[0::2]) or not any(head[1::2])) and any(head)
    return "UTF-16" if looks_wide else ""


def _problem(code: str, message: str, hint: str, path: str, data: bytes, offset: int) -> Finding:
    line, column = data.count(b"\n", 0, offset) + 1, offset - data.rfind(b"\n", 0, offset)
    return Finding(code, Severity.ERROR, message, hint, path, line, column)
