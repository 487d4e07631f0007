"""Folders whose entries an earlier scan has seen: one that has not changed since is not read again.

A folder's own stamps change with each entry that comes, goes or is renamed, and with nothing that happens inside its
files: those are looked at every time. Of 10,000 folders with a file each, a scan takes 400 ms, and 150 with a memory.
"""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH116

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from capdisc_indexer.frozen import replace
from capdisc_indexer.sources import SOURCES, source_for
from capdisc_indexer.sources.files import GRAIN_NS, FileStat, FoundFile
from capdisc_indexer.sources.folder import found_file, stat_of
from capdisc_indexer.sources.recognition import HEADED
from capdisc_indexer.sources.tree import Folder
from capdisc_indexer.types import Finding

# When names last changed in a folder, when it did itself, and which folder it is.
Mark = tuple[int, int, int, int]


class Listing(NamedTuple):
    """What a folder with these stamps holds: the names of the folders to enter, and of each capability file its name,
    its format and the names of its companions. `owned` is what the folder was told, `owns` what it tells others."""

    mark: Mark
    owned: bool
    owns: bool
    inner: Sequence[str]
    files: Sequence[tuple[str, str, Sequence[str]]]


class Recalled(NamedTuple):
    """The folders inside a folder that has not changed, and the capability files in it."""

    inner: list[Folder]
    files: list[FoundFile]


class Memory:
    """What is known of folders by their real paths, and what one scan learns of others.

    Only stamps on `devices` are believed: over a network they may lag behind. `learned` is what a scan found new.
    """

    def __init__(self, known: Mapping[str, Listing] | None = None, devices: Collection[int] = ()) -> None:
        self._known, self._devices = known or {}, devices
        self._settled = time.time_ns() - GRAIN_NS
        self._met: set[str] = set()
        self.learned: dict[str, Listing] = {}

    @property
    def gone(self) -> int:
        """How many of the known folders were not met as they were."""
        return len(self._known) - len(self._met)

    @property
    def all(self) -> dict[str, Listing]:
        """What is known after a scan, of the folders that were met."""
        return {**{path: each for path, each in self._known.items() if path in self._met}, **self.learned}

    def mark(self, folder: Folder) -> Mark | None:
        """The folder's stamps, to be taken before it is read; None where they are not to be believed."""
        if not self._devices:
            return None
        try:
            found = os.stat(folder.resolved, follow_symlinks=False)
        except OSError:
            return None
        mark = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
        return mark if max(mark[:2]) < self._settled and found.st_dev in self._devices else None

    def recall(self, folder: Folder, mark: Mark) -> Recalled | None:
        """What the folder holds, its files as they look now; None where it has changed, or one of them is no regular
        file any more."""
        known = self._known.get(folder.resolved)
        if known is None or known.mark != mark or known.owned != folder.owned:
            return None
        files = [_found(folder, *each) for each in known.files]
        if None in files:
            return None
        self._met.add(folder.resolved)
        outer = folder.as_owned() if known.owns else folder
        return Recalled([outer.inner(name) for name in known.inner], [each for each in files if each])

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
        odd = any(
            entry.is_symlink()
            or (not folder.owned and entry.name.lower().endswith(HEADED) and not source_for(entry.name))
            for entry in entries
        )
        if not odd:
            names = [each.path.rpartition("/")[2] for each in inner]
            kept = [(_name(each), each.format, [_name(one) for one in each.companions]) for each in files]
            self.learned[before.resolved] = Listing(mark, before.owned, folder.owned, names, kept)


def _name(file: FileStat) -> str:
    return file.path.rpartition("/")[2]


def _found(folder: Folder, name: str, kind: str, companions: Sequence[str]) -> FoundFile | None:
    status = stat_of(*folder.inside(name))
    if isinstance(status, Finding):
        return None
    file = found_file(folder, name, SOURCES[kind], status)
    if not companions:
        return file
    beside = [stat_of(*folder.inside(each)) for each in companions]
    whole = tuple(each for each in beside if not isinstance(each, Finding))
    return replace(file, companions=whole) if len(whole) == len(beside) else None
