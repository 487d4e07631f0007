"""The capability files directly in one folder, each with the files that belong to it."""

# Paths are plain text here: they may hold bytes that are no text, and a Path for each of 10,000 folders takes long.
# ruff: noqa: PTH112, PTH116, PTH118, PTH120

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace

from capdisc_indexer.sources import SOURCES, Source, source_for
from capdisc_indexer.sources.casing import twin_warning, twins
from capdisc_indexer.sources.files import FileStat, FoundFile, not_a_file, printable, unreadable
from capdisc_indexer.sources.links import target
from capdisc_indexer.text import UNSAFE
from capdisc_indexer.types import Finding, Severity

# Part by part: what shells, Windows and options are made of, blanks at the ends, names of devices.
_ODD = re.compile(
    r"[\x00-\x1f\x7f<>:\"|?*\\$`;&%!{}]|(?:^|/)[-~ ]|[ .](?:/|$)|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Root:
    """A folder or single file to scan, as it was named and with its links followed."""

    order: int
    path: str
    resolved: str

    def folder(self) -> Folder:
        """The folder to start in: the root itself, or the one around a single file."""
        if os.path.isdir(self.resolved):
            return Folder(self, self.path, self.resolved)
        path = os.path.dirname(self.path)
        return Folder(Root(self.order, path, os.path.realpath(path)), path, os.path.realpath(path))


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on the way down; `relative` is its place below the root, "" or ending with a slash."""

    root: Root
    path: str
    resolved: str
    relative: str = ""
    depth: int = 0

    def inner(self, name: str) -> Folder:
        """A folder of that name inside."""
        path, resolved = os.path.join(self.path, name), os.path.join(self.resolved, name)
        return Folder(self.root, path, resolved, f"{self.relative}{name}/", self.depth + 1)

    def at(self, resolved: str) -> Folder:
        """The same folder, as a link that leads to `resolved`."""
        return replace(self, resolved=resolved)


def is_companion(filename: str) -> bool:
    """Whether a file of this name belongs to a manifest beside it."""
    return any(filename.lower() in source.companions for source in SOURCES.values())


def files_of(
    folder: Folder, entries: Sequence[os.DirEntry[str]], allowed: Sequence[str]
) -> tuple[list[FoundFile], list[Finding]]:
    """The capability files among a folder's entries, and what is wrong with entries of such names.

    Links are accepted that lead below one of the real paths `allowed`.
    """
    named = {entry.name: source for entry in entries if (source := source_for(entry.name)) and not _is_folder(entry)}
    if not named:
        return [], []
    owned = {name for source in named.values() for name in source.companions}
    lost = twins(name for name in named if name.lower() not in owned)
    found: list[FoundFile] = []
    beside: list[FileStat] = []
    lost_beside: list[Finding] = []
    findings = [twin_warning(printable(os.path.join(folder.path, name)), winner) for name, winner in lost.items()]
    wanted = [entry for entry in entries if (entry.name in named or entry.name.lower() in owned)]
    for entry in wanted:
        if entry.name in lost or _is_folder(entry):
            continue
        if entry.name in named:
            _noted_name(folder, entry.name, findings)
        is_owned = entry.name.lower() in owned
        if status := _status(folder, entry, allowed, lost_beside if is_owned else findings):
            if is_owned:
                beside.append(status)
            else:
                found.append(_found(folder, entry.name, named[entry.name], status))
    if not found:
        findings += lost_beside
    return [_with_companions(file, beside, lost_beside) for file in found], findings


def _with_companions(file: FoundFile, beside: Sequence[FileStat], lost: Sequence[Finding]) -> FoundFile:
    names = SOURCES[file.format].companions
    companions = tuple(status for status in beside if os.path.basename(status.path).lower() in names)
    return replace(file, companions=companions, lost=tuple(lost) if names else ())


def _found(folder: Folder, name: str, source: Source, status: FileStat) -> FoundFile:
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
    try:
        status = os.stat(resolved, follow_symlinks=False)
    except OSError as error:
        findings.append(unreadable(path, error))
        return None
    if not stat.S_ISREG(status.st_mode):
        findings.append(not_a_file(path))
        return None
    return FileStat(
        path=path,
        resolved=resolved,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _noted_name(folder: Folder, name: str, findings: list[Finding]) -> None:
    """Notes a path that other systems, shells or readers of a list take for something else."""
    relative = folder.relative + name
    if relative.isascii() and not _ODD.search(relative):
        return
    shown = printable(relative)
    what = _oddity(relative, shown)
    if what:
        findings.append(
            Finding(
                code="path-character",
                severity=Severity.WARNING,
                message=f"the path {shown[:200]!r} {what}",
                hint="rename the folder",
                path=printable(os.path.join(folder.path, name)),
            )
        )


def _oddity(relative: str, shown: str) -> str:
    if shown != relative:
        return "is not UTF-8"
    if UNSAFE.search(relative) or "\n" in relative or "\t" in relative:
        return "holds control or hidden characters"
    return "holds what means something to shells or to other systems" if _ODD.search(relative) else ""
