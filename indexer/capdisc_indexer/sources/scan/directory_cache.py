"""Folders whose entries an earlier scan has seen: one that has not changed since is not read
again.

A folder's own stamps change with each entry that comes, goes or is renamed, and with nothing that
happens inside its files: those are looked at every time. Of 10,000 folders with a file each, a
scan takes 420 ms, and 150 with a memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sources import SOURCES, source_for
from capdisc_indexer.sources.scan.folder_files import SNIFFED_SUFFIXES, found_file, stat_of
from capdisc_indexer.sources.scan.folder_tree import ScanFolder
from capdisc_indexer.sources.scan.path_warnings import odd_name
from capdisc_indexer.sources.scan.scanned_files import GRAIN_NS, FileStat, FoundFile

# A file that an earlier scan found, as it looks now.


def recall_file(
    folder: ScanFolder, name: str, kind: str, companions: Sequence[str]
) -> FoundFile | None:
    """The file of that name with these companions; None where one of them is no regular file any
    more.
    """
    status = stat_of(*folder.inside(name))
    if not isinstance(status, FileStat):
        return None
    file = found_file(folder, name, SOURCES[kind], status)
    return _with(folder, file, companions) if companions else file


def _with(folder: ScanFolder, file: FoundFile, companions: Sequence[str]) -> FoundFile | None:
    statuses = [stat_of(*folder.inside(name)) for name in companions]
    companion_files = tuple(status for status in statuses if isinstance(status, FileStat))
    return (
        replace(file, companions=companion_files) if len(companion_files) == len(statuses) else None
    )


# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH116


# When names last changed in a folder, when it did itself, which folder it is, and on which device.
StatKey = tuple[int, int, int, int]


class DirectoryEntry(NamedTuple):
    """What a folder holds: the names of the folders to enter, and of each capability file its
    name, its format and the names of its companions. `owned` is what the folder was told, `owns`
    what it tells those in it.
    """

    owned: bool
    owns: bool
    inner: tuple[str, ...]
    files: tuple[tuple[str, str, tuple[str, ...]], ...]


CachedDirectories = Mapping[str, tuple[StatKey, DirectoryEntry]]


class DirectoryCache:
    """What is known of folders by their real paths, and what one scan learns of others.

    Only stamps on `devices` are believed: over a network they may lag behind. `learned` is what a
    scan found new.
    """

    def __init__(
        self, remembered: CachedDirectories | None = None, devices: Collection[int] = ()
    ) -> None:
        self._known, self._devices = remembered or {}, devices
        self._settled = time.time_ns() - GRAIN_NS
        self._met: list[str] = []
        self.learned: dict[str, tuple[StatKey, DirectoryEntry]] = {}

    @property
    def hit_count(self) -> int:
        """How many of the known folders were met as they were."""
        return len(self._met)

    @property
    def miss_count(self) -> int:
        """How many of the known folders were not met as they were."""
        return len(self._known) - len(self._met)

    @property
    def all(self) -> CachedDirectories:
        """What is known after a scan, of the folders that were met."""
        return {**{path: self._known[path] for path in self._met}, **self.learned}

    def mark(self, folder: ScanFolder) -> StatKey | None:
        """The folder's stamps, to be taken before it is read; None where they are not to be
        believed.
        """
        if not self._devices:
            return None
        try:
            status = os.stat(folder.resolved, follow_symlinks=False)
        except OSError:
            return None
        mark = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
        return mark if mark[0] < self._settled > mark[1] and mark[3] in self._devices else None

    def recall(
        self, folder: ScanFolder, mark: StatKey
    ) -> tuple[list[ScanFolder], list[FoundFile]] | None:
        """The folders to enter and the files of a folder, which look as they do now; None where it
        has changed, or one of them is no regular file any more.
        """
        stored_mark, shape = self._known.get(folder.resolved, (None, None))
        if (
            shape is None
            or stored_mark != mark
            or shape.owned != folder.owned
            or (shape.files and _odd(folder))
        ):
            return None
        files = [file for entry in shape.files if (file := recall_file(folder, *entry))]
        if len(files) != len(shape.files):
            return None
        self._met.append(folder.resolved)
        outer = folder.as_owned() if shape.inner and shape.owns else folder
        return [outer.inner(name) for name in shape.inner], files

    def learn(
        self,
        mark: StatKey,
        before: ScanFolder,
        folder: ScanFolder,
        entries: Sequence[os.DirEntry[str]],
        inner: Sequence[ScanFolder],
        files: Sequence[FoundFile],
    ) -> None:
        """Keep what a folder holds, unless more than names decided about it: links, or what files
        begin with.
        """
        if not any(entry.is_symlink() or _is_sniffed(folder, entry.name) for entry in entries):
            file_entries = tuple(
                (_name(file.path), file.format, _names(file.companions)) for file in files
            )
            self.learned[before.resolved] = (
                mark,
                DirectoryEntry(before.owned, folder.owned, _names(inner), file_entries),
            )


def _odd(folder: ScanFolder) -> bool:
    """Whether each file in it gets a warning for the way to it, which differs from root to
    root.
    """
    return any(odd_name(folder.relative, folder.path))


def _is_sniffed(folder: ScanFolder, name: str) -> bool:
    return not folder.owned and name.lower().endswith(SNIFFED_SUFFIXES) and not source_for(name)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _names(nodes: Iterable[ScanFolder | FileStat]) -> tuple[str, ...]:
    return tuple([_name(node.path) for node in nodes])
