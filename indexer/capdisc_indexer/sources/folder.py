"""The capability files directly in one folder, each with the files that belong to it."""

# Paths are plain text here: they may hold bytes that are no text, and a Path for each of 10,000 folders takes long.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import SOURCES, Source, source_for
from capdisc_indexer.sources.casing import twin_warning, twins
from capdisc_indexer.sources.files import FileStat, FoundFile, not_a_file, printable, unreadable
from capdisc_indexer.sources.links import target
from capdisc_indexer.sources.odd_names import odd_name
from capdisc_indexer.sources.recognition import by_head
from capdisc_indexer.sources.tree import Folder, is_folder
from capdisc_indexer.types import Finding


def is_companion(filename: str) -> bool:
    """Whether a file of this name belongs to a manifest beside it."""
    return any(filename.lower() in source.companions for source in SOURCES.values())


def files_of(
    folder: Folder, entries: Sequence[os.DirEntry[str]], allowed: Sequence[str]
) -> tuple[list[FoundFile], list[Finding]]:
    """The capability files among a folder's entries, and what is wrong with entries of such names.

    Links are accepted that lead below one of the real paths `allowed`.
    """
    named = {entry.name: source for entry in entries if (source := _recognised(folder, entry))}
    if not named:
        return [], []
    owned = {name for source in named.values() for name in source.companions}
    lost = twins(name for name, source in named.items() if source.everywhere and name.lower() not in owned)
    found: list[FoundFile] = []
    beside: list[FileStat] = []
    lost_beside: list[Finding] = []
    findings = [twin_warning(printable(os.path.join(folder.path, name)), winner) for name, winner in lost.items()]
    wanted = [entry for entry in entries if (entry.name in named or entry.name.lower() in owned)]
    for entry in wanted:
        if entry.name in lost or is_folder(entry):
            continue
        if entry.name in named:
            findings += odd_name(folder.relative + entry.name, os.path.join(folder.path, entry.name))
        is_owned = entry.name.lower() in owned
        if status := _status(folder, entry, allowed, lost_beside if is_owned else findings):
            if is_owned:
                beside.append(status)
            else:
                found.append(found_file(folder, entry.name, named[entry.name], status))
    if not found:
        findings += lost_beside
    return [_with_companions(file, beside, lost_beside) for file in found], findings


def _recognised(folder: Folder, entry: os.DirEntry[str]) -> Source | None:
    """The format of an entry by its name or, where many programs use the ending, by its first bytes."""
    if is_folder(entry):
        return None
    if source := source_for(entry.name):
        return source if source.everywhere or not folder.owned else None
    if folder.owned or entry.is_symlink():
        return None
    return by_head(entry.name, os.path.join(folder.resolved, entry.name))


def _with_companions(file: FoundFile, beside: Sequence[FileStat], lost: Sequence[Finding]) -> FoundFile:
    names = SOURCES[file.format].companions
    if not names or not (beside or lost):
        return file
    companions = tuple(status for status in beside if os.path.basename(status.path).lower() in names)
    return replace(file, companions=companions, lost=tuple(lost) if names else ())


def found_file(folder: Folder, name: str, source: Source, status: FileStat) -> FoundFile:
    """A file directly in the folder that is to be read as of this format."""
    return FoundFile(
        path=status.path,
        resolved=status.resolved,
        size=status.size,
        mtime_ns=status.mtime_ns,
        ctime_ns=status.ctime_ns,
        inode=status.inode,
        relative=folder.relative + name,
        root=folder.root.path,
        root_order=folder.root.order,
        format=source.format,
    )


def _status(
    folder: Folder, entry: os.DirEntry[str], allowed: Sequence[str], findings: list[Finding]
) -> FileStat | None:
    path = os.path.join(folder.path, entry.name)
    resolved = os.path.join(folder.resolved, entry.name)
    if entry.is_symlink():
        followed = target(resolved, allowed)
        if isinstance(followed, Finding):
            findings.append(replace(followed, path=printable(path)))
            return None
        resolved = followed
    status = stat_of(path, resolved)
    if isinstance(status, Finding):
        findings.append(status)
        return None
    return status


def stat_of(path: str, resolved: str) -> FileStat | Finding:
    """What tells a change of a regular file, or why there is none at `resolved`."""
    try:
        status = os.stat(resolved, follow_symlinks=False)
    except OSError as error:
        return unreadable(path, error)
    if not stat.S_ISREG(status.st_mode):
        return not_a_file(path)
    return FileStat(
        path=path,
        resolved=resolved,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )
