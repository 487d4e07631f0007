"""Where a link leads, and whether that is inside the scanned folders."""

from __future__ import annotations

import os
from collections.abc import Iterable

from capdisc_indexer.sources.files import printable
from capdisc_indexer.types import Finding, Severity


def inside(resolved: str, roots: Iterable[str]) -> bool:
    """Whether a path without links is one of `roots` (without links too) or lies below one.

    >>> inside("/a/b", ["/a"]), inside("/ab", ["/a"])
    (True, False)
    """
    return any(resolved == root or resolved.startswith(root.rstrip("/") + "/") for root in roots)


def target(path: str, roots: Iterable[str], severity: Severity = Severity.ERROR) -> str | Finding:
    """The real path behind a link, or the reason why it is not followed."""
    try:
        resolved = os.path.realpath(path, strict=True)
    except OSError as error:
        reason = error.strerror or "unknown error"
        return _refused(severity, path, f"is a link that leads nowhere: {reason}", "repair or remove the link")
    if inside(resolved, roots):
        return resolved
    hint = "scan the target's folder as well, or put the file itself here"
    return _refused(severity, path, "is a link that leads out of the scanned folders; not read", hint)


def stray_finding(path: str) -> Finding:
    """What is to be said of something that the workspace chose, and that a link leads out of it since."""
    message = "is a link that leads out of the workspace; not read"
    return _refused(Severity.WARNING, path, message, "to read it: capdisc trust")


def _refused(severity: Severity, path: str, message: str, hint: str) -> Finding:
    text = f"{printable(os.path.basename(path))} {message}"
    return Finding(code="symlink", severity=severity, message=text, hint=hint, path=printable(path))
