"""Paths that other systems, shells or readers of a list take for something else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.sources.files import printable
from capdisc_indexer.text import UNSAFE
from capdisc_indexer.types import Finding, Severity

# Part by part: what shells, Windows and options are made of, blanks at the ends, names of devices.
_ODD = re.compile(
    r"[\x00-\x1f\x7f<>:\"|?*\\$`;&%!{}]|(?:^|/)[-~ ]|[ .](?:/|$)|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)",
    re.IGNORECASE,
)


def odd_name(relative: str, path: str) -> Iterator[Finding]:
    """A warning about the file at `path` where its path below the root is such a one."""
    if relative.isascii() and not _ODD.search(relative):
        return
    shown = printable(relative)
    if what := _oddity(relative, shown):
        message, hint = f"the path {shown[:200]!r} {what}", "rename the folder"
        yield Finding(
            code="path-character", severity=Severity.WARNING, message=message, hint=hint, path=printable(path)
        )


def _oddity(relative: str, shown: str) -> str:
    if shown != relative:
        return "is not UTF-8"
    if UNSAFE.search(relative) or "\n" in relative or "\t" in relative:
        return "holds control or hidden characters"
    return "holds what means something to shells or to other systems" if _ODD.search(relative) else ""
