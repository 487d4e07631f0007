"""Folders whose entries an earlier scan has seen: one that has not changed since is not read again.

A folder's own stamps change with each entry that comes, goes or is renamed, and with nothing that happens inside its
files: those are looked at every time. Of 10,000 folders with a file each, a scan takes 420 ms, and 150 with a memory.
"""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from capdisc_indexer.sources import source_for
from capdisc_indexer.sources.files import GRAIN_NS, FileStat, FoundFile
from capdisc_indexer.sources.odd_names import odd_name
from capdisc_indexer.sources.recalled import recalled
from capdisc_indexer.sources.recognition import HEADED
from capdisc_indexer.sources.tree import Folder

# When names last changed in a folder, when it did itself, which folder it is, and on which device.
Mark = tuple[int, int, int, int]


class Shape(NamedTuple):
    """What a folder holds: the names of the folders to enter, and of each capability file its name, its format and the
    names of its companions. `owned` is what the folder was told, `owns` what it tells those in it."""

    owned: bool
    owns: bool
    inner: tuple[str, ...]
    files: tuple[tuple[str, str, tuple[str, ...]], ...]


Known = Mapping[str, tuple[Mark, Shape]]


class Memory:
    """What is known of folders by their real paths, and what one scan learns of others.

    Only stamps on `devices` are believed: over a network they may lag behind. `learned` is what a scan found new.
    """

    def __init__(self, known: Known | None = None, devices: Collection[int] = ()) -> None:
        self._known, self._devices = known or {}, devices
        self._settled = time.time_ns() - GRAIN_NS
        self._met: list[str] = []
        self.learned: dict[str, tuple[Mark, Shape]] = {}

    @property
    def met(self) -> int:
        """How many of the known folders were met as they were."""
        return len(self._met)

    @property
    def gone(self) -> int:
        """How many of the known folders were not met as they were."""
        return len(self._known) - len(self._met)

    @property
    def all(self) -> Known:
        """What is known after a scan, of the folders that were met."""
        return {**{path: self._known[path] for path in self._met}, **self.learned}

    def mark(self, folder: Folder) -> Mark | None:
        """The folder's stamps, to be taken before it is read; None where they are not to be believed."""
        if not self._devices:
            return None
        try:
            found = os.stat(folder.resolved, follow_symlinks=False)
        except OSError:
            return None
        mark = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
        return mark if mark[0] < self._settled > mark[1] and mark[3] in self._devices else None

    def recall(self, folder: Folder, mark: Mark) -> tuple[list[Folder], list[FoundFile]] | None:
        """The folders to enter and the files of a folder, which look as they do now; None where it has changed, or one
        of them is no regular file any more."""
        known, shape = self._known.get(folder.resolved, (None, None))
        if shape is None or known != mark or shape.owned != folder.owned or (shape.files and _odd(folder)):
            return None
        files = [found for each in shape.files if (found := recalled(folder, *each))]
        if len(files) != len(shape.files):
            return None
        self._met.append(folder.resolved)
        outer = folder.as_owned() if shape.inner and shape.owns else folder
        return [outer.inner(name) for name in shape.inner], files

    def learn(
        self,
        mark: Mark,
        before: Folder,
        folder: Folder,
        entries: Sequence[os.DirEntry[str]],
        inner: Sequence[Folder],
        files: Sequence[FoundFile],
    ) -> None:
        """Keep what a folder holds, unless more than names decided about it: links, or what files begin with."""
        if not any(entry.is_symlink() or _headed(folder, entry.name) for entry in entries):
            kept = tuple((_name(each.path), each.format, _names(each.companions)) for each in files)
            self.learned[before.resolved] = mark, Shape(before.owned, folder.owned, _names(inner), kept)


def _odd(folder: Folder) -> bool:
    """Whether each file in it gets a warning for the way to it, which differs from root to root."""
    return any(odd_name(folder.relative, folder.path))


def _headed(folder: Folder, name: str) -> bool:
    return not folder.owned and name.lower().endswith(HEADED) and not source_for(name)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _names(found: Iterable[Folder | FileStat]) -> tuple[str, ...]:
    return tuple([_name(each.path) for each in found])
