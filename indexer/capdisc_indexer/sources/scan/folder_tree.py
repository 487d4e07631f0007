"""The folders of a scan: roots, folders below them, and the folder of guidance in each root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from capdisc_indexer.platforms import resolve_path, system, to_nfc
from capdisc_indexer.sources.format_table import source_for

# Paths are strings, since they may hold bytes that are not text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH112, PTH120

MAX_DEPTH = 32
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules"})
# `guidance/<category>.md` of a root is guidance for a category, and is found without being read.
GUIDANCE_FOLDER, SUFFIX = "guidance", ".md"
LIMIT_BYTES = 64 * 1024
MAX_FILES = 500  # of one root


class ScanRoot(NamedTuple):
    """A folder or single file to scan: its path as given, and with its links followed."""

    order: int
    path: str
    resolved: str

    def folder(self) -> ScanFolder:
        """The folder to start in: the root itself, or the folder of a single file."""
        if os.path.isdir(self.resolved):
            return ScanFolder(self, self.path, self.resolved)
        path = os.path.dirname(self.path)
        resolved = resolve_path(path)
        return ScanFolder(ScanRoot(self.order, path, resolved), path, resolved)


class ScanFolder(NamedTuple):
    """A folder below a root; `relative` is its path there, "" or with a slash at the end. An
    `owned` folder belongs to a skill or capability, so that files in it are not sources of their
    own. `outside` is the real folder outside of the scanned ones that a link led to, and that this
    one is or lies in; "" for a folder inside.
    """

    root: ScanRoot
    path: str
    resolved: str
    relative: str = ""
    depth: int = 0
    owned: bool = False
    outside: str = ""

    def inner(self, name: str) -> ScanFolder:
        """The folder of that name inside."""
        path, resolved = self.inside(name)
        return ScanFolder(
            self.root,
            path,
            resolved,
            f"{self.relative}{name}/",
            self.depth + 1,
            self.owned,
            self.outside,
        )

    def inside(self, name: str) -> tuple[str, str]:
        """The path of an entry, and its real path; by far the most frequent call of a scan."""
        path, resolved = self.path, self.resolved
        return (
            f"{path}{'' if path[-1] == '/' else '/'}{name}",
            f"{resolved}{'' if resolved[-1] == '/' else '/'}{name}",
        )

    def at(self, resolved: str, outside: str) -> ScanFolder:
        """The same folder, as a link that leads to `resolved`, which belongs to `outside`."""
        return self._replace(resolved=resolved, outside=outside)

    def holding(self, entries: Sequence[os.DirEntry[str]]) -> ScanFolder:
        """The same folder with these entries: owned, if one of them is a skill or capability."""
        if self.owned:
            return self
        sources = (source_for(entry.name) for entry in entries if not system.is_folder(entry))
        is_owner = any(source and source.owns_folder for source in sources)
        return self.as_owned() if is_owner else self

    def as_owned(self) -> ScanFolder:
        """The same folder, as part of a skill or capability."""
        return self._replace(owned=True)


def is_inside(resolved: str, roots: Iterable[str]) -> bool:
    """Whether a path is one of `roots` or lies below one; all without links.

    >>> is_inside("/a/b", ["/a"]), is_inside("/ab", ["/a"])
    (True, False)
    """
    return any(resolved == root or resolved.startswith(root.rstrip("/") + "/") for root in roots)


def category_of(path: str) -> str:
    """The category that a file of guidance is for.

    >>> category_of("/skills/guidance/images.md")
    'images'
    """
    return to_nfc(os.path.basename(path)).removesuffix(SUFFIX)


def is_guidance(path: str) -> bool:
    """Whether a file of this path could be guidance.

    >>> is_guidance("/skills/guidance/images.md"), is_guidance("/skills/images.md")
    (True, False)
    """
    return path.endswith(SUFFIX) and os.path.basename(os.path.dirname(path)) == GUIDANCE_FOLDER
