"""Workflow guidance beside the capabilities: `guidance/<category>.md` of a root, found without
being read.
"""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH100, PTH114, PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from capdisc_indexer.sources.scan.scanned_files import FileStat

FOLDER, SUFFIX = "guidance", ".md"
LIMIT_BYTES = 64 * 1024
MAX_FILES = 500  # of one root


def guidance_files(roots: Sequence[Path]) -> tuple[FileStat, ...]:
    """The files of every root, the first root's first. No link is followed; what cannot be looked
    at is not there.
    """
    return tuple(status for root in roots for status in _of_root(os.path.abspath(root)))


def category_of(path: str) -> str:
    """The category that a file of guidance is for.

    >>> category_of("/skills/guidance/images.md")
    'images'
    """
    return os.path.basename(path).removesuffix(SUFFIX)


def is_guidance(path: str) -> bool:
    """Whether a file of this path could be guidance.

    >>> is_guidance("/skills/guidance/images.md"), is_guidance("/skills/images.md")
    (True, False)
    """
    return path.endswith(SUFFIX) and os.path.basename(os.path.dirname(path)) == FOLDER


def _of_root(root: str) -> Iterator[FileStat]:
    folder = os.path.join(root, FOLDER)
    try:
        with os.scandir(folder) as entries:
            folder_entries = (
                [] if os.path.islink(folder) else sorted(entries, key=lambda entry: entry.name)
            )
    except OSError:  # a root without guidance, or a single file
        return
    named = [
        entry
        for entry in folder_entries
        if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
    ]
    for entry in named[:MAX_FILES]:
        if stat := _stat(entry):
            resolved = os.path.join(os.path.realpath(folder), entry.name)
            yield FileStat(
                path=entry.path,
                resolved=resolved,
                size=stat.st_size,
                mtime_ns=stat.st_mtime_ns,
                ctime_ns=stat.st_ctime_ns,
                inode=stat.st_ino,
            )


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:  # gone again
        return None
