"""Folders on the way down from a root."""

# Paths are plain text here: they may hold bytes that are no text, and a Path for each of 10,000 folders takes long.
# ruff: noqa: PTH112, PTH120

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from capdisc_indexer.sources import source_for

MAX_DEPTH = 32
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})


class Root(NamedTuple):
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


class Folder(NamedTuple):
    """A folder on the way down; `relative` is its place below the root, "" or ending with a slash. An `owned` one
    belongs to a skill or capability, so that what lies in it is no source of its own."""

    root: Root
    path: str
    resolved: str
    relative: str = ""
    depth: int = 0
    owned: bool = False

    def inner(self, name: str) -> Folder:
        """A folder of that name inside."""
        path, resolved = self.inside(name)
        return Folder(self.root, path, resolved, f"{self.relative}{name}/", self.depth + 1, self.owned)

    def inside(self, name: str) -> tuple[str, str]:
        """The path of something in it, and its real one; by far the most frequent question of a scan."""
        path, resolved = self.path, self.resolved
        return f"{path}{'' if path[-1] == '/' else '/'}{name}", f"{resolved}{'' if resolved[-1] == '/' else '/'}{name}"

    def at(self, resolved: str) -> Folder:
        """The same folder, as a link that leads to `resolved`."""
        return self._replace(resolved=resolved)

    def holding(self, entries: Sequence[os.DirEntry[str]]) -> Folder:
        """The same folder, owned where one of its entries makes it so."""
        sources = (source_for(entry.name) for entry in entries if not self.owned and not is_folder(entry))
        return self.as_owned() if any(source and source.owns_folder for source in sources) else self

    def as_owned(self) -> Folder:
        """The same folder, as part of a skill or capability."""
        return Folder(self.root, self.path, self.resolved, self.relative, self.depth, True)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a folder itself, and no link to one."""
    return entry.is_dir(follow_symlinks=False)
