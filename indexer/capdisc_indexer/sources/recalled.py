"""A file that an earlier scan found, as it looks now."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources.files import FileStat, FoundFile
from capdisc_indexer.sources.folder import stat_of
from capdisc_indexer.sources.tree import Folder


def recalled(folder: Folder, name: str, kind: str, companions: Sequence[str]) -> FoundFile | None:
    """The file of that name with these companions; None where one of them is no regular file any more."""
    path, resolved = folder.inside(name)
    try:
        status = os.stat(resolved, follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    file = FoundFile(
        path=path,
        resolved=resolved,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        relative=folder.relative + name,
        root=folder.root.path,
        root_order=folder.root.order,
        format=kind,
    )
    return _with(folder, file, companions) if companions else file


def _with(folder: Folder, file: FoundFile, companions: Sequence[str]) -> FoundFile | None:
    found = [stat_of(*folder.inside(each)) for each in companions]
    beside = tuple(each for each in found if isinstance(each, FileStat))
    return replace(file, companions=beside) if len(beside) == len(found) else None
