"""A file as the scan saw it, and the findings for files that cannot be read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.types import Finding, Severity, SourceRef

# A file that changes twice within the resolution of time stamps looks unchanged, so only older
# stamps are believed.
GRAIN_NS = 2_000_000_000


@frozen(kw_only=True)
class FileStat:
    """The stamps that show a changed file without reading it. `resolved` is `path` with every link
    followed.
    """

    path: str
    resolved: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@frozen(kw_only=True)
class FoundFile(FileStat):
    """One file to load. `path` is absolute, with its links; `relative` is `path` below `root`, with
    slashes.

    `companions` are files that belong to this one, which has changed if one of them has. `lost`
    has a finding for each file with the name of a companion that cannot be one, such as a link out
    of the folder. Files that a manifest only names (`skillContent: docs/long.md`) are not
    companions, since a scan does not read manifests: a change there is seen when the manifest
    changes too, or when everything is read again (`index --verify`, `--rebuild`).

    With `is_declared`, a declaration gives the format, and `name` and `options`; with `is_alone`
    it names this very file and not a folder. With `allows_secrets`, the file is read even if it
    holds secrets.
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
    allows_secrets: bool = False


def content_hash(data: bytes, companions: Sequence[bytes] = ()) -> str:
    """SHA-256 of a file and its companions, as hexadecimal digits; without companions, that of the
    file.
    """
    digest = hashlib.sha256(data)
    for companion in companions:
        digest.update(b"\0%d\0" % len(companion))
        digest.update(companion)
    return digest.hexdigest()


def unreadable_finding(path: str, error: OSError) -> Finding:
    """The finding for a file or folder that the operating system cannot open or read."""
    if isinstance(error, FileNotFoundError):
        return refuse_file(
            "vanished", Severity.WARNING, path, "is gone since the scan", "run the command again"
        )
    reason = error.strerror or "unknown error"
    return refuse_file(
        "path-unreadable",
        Severity.ERROR,
        path,
        f"cannot be read: {reason}",
        "check its permissions",
    )


def not_a_file(path: str) -> Finding:
    """The finding for a folder, pipe, socket or device in place of a file."""
    return refuse_file(
        "path-not-file",
        Severity.ERROR,
        path,
        "is not a regular file",
        "put a regular file in its place",
    )


def source_ref(file: FoundFile, digest: str, pointer: str = "") -> SourceRef:
    """The source of a capability of this file, as text that can be stored and printed."""
    return SourceRef(
        path=printable_path(file.path),
        format=file.format,
        pointer=pointer,
        content_hash=digest,
        root=printable_path(file.root),
    )


def printable_path(path: str) -> str:
    """The path as text that can be encoded: bytes that are not UTF-8 show as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def refuse_file(code: str, severity: Severity, path: str, message: str, hint: str) -> Finding:
    """The finding for a file that is not read; its name begins the message."""
    name = printable_path(os.path.basename(path))
    return Finding(
        code=code,
        severity=severity,
        message=f"{name} {message}",
        hint=hint,
        path=printable_path(path),
    )
