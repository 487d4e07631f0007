"""The contents of a file: its bytes, opened so that no link can lead to another file, their
digest, and their text, which must be UTF-8.
"""

from __future__ import annotations

import errno
import os
import stat

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
    return _read_head(handle, count)


def _read_head(handle: int, count: int) -> bytes:
    """Closes the handle."""
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
    try:
        handle = system.open_without_links(resolved)
    except OSError as error:
        return _open_problem(path, error)
    try:
        return _read(path, handle, limit_bytes)
    except OSError as error:
        return unreadable_finding(path, error)
    finally:
        os.close(handle)


def head_of(file: FileStat, count: int) -> bytes:
    """The file's first bytes; b"" if it cannot be read."""
    try:
        handle = system.open_without_links(file.resolved)
    except OSError:
        return b""
    return _read_head(handle, count)


def digest_of(file: FileStat, limit_bytes: int) -> str | Finding:
    """SHA-256 of a file that may be larger than memory, or the finding that says why there is
    none.
    """
    try:
        handle = system.open_without_links(file.resolved)
    except OSError as error:
        return _open_problem(file.path, error)
    try:
        if problem := _file_problem(file.path, handle, limit_bytes):
            return problem
        with open(handle, "rb", closefd=False) as stream:
            import hashlib  # 4 ms, which a file read whole does without

            return hashlib.file_digest(stream, "sha256").hexdigest()
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
    if error.errno in {errno.ENXIO, errno.EOPNOTSUPP}:
        return not_a_file(path)
    return unreadable_finding(path, error)


def _read(path: str, handle: int, limit_bytes: int) -> bytes | Finding:
    if problem := _file_problem(path, handle, limit_bytes):
        return problem
    # A buffer as large as the limit would be a new mapping of memory for each file: 5 % of the
    # time of reading it.
    size = min(os.fstat(handle).st_size, limit_bytes)
    with open(handle, "rb", buffering=0, closefd=False) as stream:
        data = stream.read(size + 1) or b""
        if len(data) > size:  # it grew meanwhile, or its file system gives no size
            data += stream.read(limit_bytes + 1 - len(data)) or b""
    return data if len(data) <= limit_bytes else _too_large(path, limit_bytes)


def _file_problem(path: str, handle: int, limit_bytes: int) -> Finding | None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        return not_a_file(path)
    return _too_large(path, limit_bytes) if status.st_size > limit_bytes else None


def _too_large(path: str, limit_bytes: int) -> Finding:
    message = f"is larger than {limit_bytes // 1024:,} KiB"
    return refuse_file(
        "file-too-large", Severity.ERROR, path, message, "move long parts into files beside it"
    )


def read_input(file: FoundFile) -> bytes | Finding:
    """The bytes for the loader of the file's format, which are b"" if the loader opens the file
    itself; or the finding that says why it cannot be read.
    """
    source = SOURCES[file.format]
    if not file.allows_secrets and (holds := held_by_name(file.path, file.resolved)):
        return secret_file(file.path, holds)
    if not source.reads:
        digest = digest_of(file, source.limit_bytes)
        if isinstance(digest, Finding):
            return digest
        return _secret_finding(file, head_of(file, HEAD_BYTES)) or b""
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
        digest = digest_of(file, source.limit_bytes)
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
        findings.append(
            Finding(
                code="byte-order-mark",
                severity=Severity.INFO,
                message="the file begins with a byte order mark",
                hint="save it as UTF-8 without a mark",
                path=path,
            )
        )
    if 0 < data.count(b"\r\n") < data.count(b"\n"):
        findings.append(
            Finding(
                code="line-ends-mixed",
                severity=Severity.INFO,
                message="some lines end with CR LF and some with LF",
                hint="save it with one kind of line end",
                path=path,
            )
        )
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
    before = data[:offset]
    start = before.rfind(b"\n") + 1
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        path=path,
        line=before.count(b"\n") + 1,
        column=offset - start + 1,
    )
