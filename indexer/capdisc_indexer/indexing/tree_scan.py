"""A scan of all folders of a build, or of those in which something changed, with the stamps of
what it read.

The stamps next to the index name the paths that changed. Their folders are read, and with them the
folders that are new; what has a stamp and is in no folder any more is gone. Where a scan of
everything could see more than that (links, names that are warned about, folders of guidance),
WiderChangeError says so.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.indexing.build_request import BuildRequest, TreeComparison
from capdisc_indexer.model.errors import WiderChangeError, require_narrow_change
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.file_scan import ScanResult, open_folder, scan_roots
from capdisc_indexer.sources.scan.folder_files import FolderStamps
from capdisc_indexer.sources.scan.folder_tree import (
    GUIDANCE_FOLDER,
    MAX_DEPTH,
    SKIPPED_FOLDERS,
    ScanFolder,
    ScanRoot,
    is_inside,
)
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.store.durable_files import Mount, find_mount
from capdisc_indexer.store.folder_stamps import FOLDERS, OWNED_FOLDERS, StampedTree

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH112, PTH120

# A tree of more new folders is left to a scan of everything.
_MAX_NEW_FOLDERS = 64


@frozen(kw_only=True)
class ScanSnapshot:
    """What a scan saw at one time, with the stamps of its folders."""

    at_ns: int
    scan: ScanResult
    stamps: FolderStamps


def scan_folders(request: BuildRequest) -> ScanSnapshot:
    """A scan of the roots and declared sources now.

    A root that the options confine is read only while it leads into one of its real folders.
    Raises InputError for a root that does not exist.
    """
    options = request.options
    stamps, now_ns = FolderStamps(_local_devices(request.roots)), time.time_ns()
    scan = scan_roots(
        request.roots, options.sources, stamps, options.confined, options.links, takes_data=True
    )
    return ScanSnapshot(at_ns=now_ns, scan=scan, stamps=stamps)


@frozen(kw_only=True)
class FolderView:
    """One folder as it is now: its stamp, its capability files, the folders to enter, and the
    findings about its entries. Without `is_certain`, the stamps of the folder and its
    files do not tell everything about it.
    """

    stamp: tuple[int, int, int]
    files: Sequence[FoundFile]
    inner: Sequence[ScanFolder]
    findings: Sequence[Finding]
    is_certain: bool


def scan_folder(folder: ScanFolder) -> FolderView | None:
    """One folder below a root as a scan of everything sees it; None where it cannot be read."""
    stamps = FolderStamps(_local_devices([Path(folder.root.path)]))
    files, inner, findings = open_folder(folder, stamps)
    if not stamps.taken:
        return None
    return FolderView(
        stamp=stamps.taken[0][1],
        files=files,
        inner=inner,
        findings=findings,
        is_certain=not stamps.uncertain_count,
    )


def _local_devices(roots: Sequence[Path]) -> set[int]:
    """The devices that hold the roots, as far as they are disks of this machine: only their stamps
    can be believed.
    """
    root_of_device: dict[int, Path] = {}
    for root in roots:
        with suppress(OSError):  # the scan reports it
            root_of_device.setdefault(root.stat().st_dev, root)
    return {device for device, root in root_of_device.items() if _is_local_disk(find_mount(root))}


def _is_local_disk(mount: Mount) -> bool:
    return bool(mount.kind) and not mount.is_shared and not mount.is_limited


class FolderState(NamedTuple):
    """A folder, and what it holds now."""

    folder: ScanFolder
    view: FolderView

    @property
    def section(self) -> int:
        """The section of its stamp: that of folders of a capability, or that of all others."""
        owns = any(SOURCES[file.format].owns_folder for file in self.view.files)
        return OWNED_FOLDERS if owns or self.folder.owned else FOLDERS

    @property
    def entries(self) -> set[str]:
        """The paths of its files and folders, as far as a scan reads them."""
        files = [stat.path for file in self.view.files for stat in (file, *file.companions)]
        return {*files, *(inner.path for inner in self.view.inner)}


@frozen(kw_only=True)
class ChangedTree:
    """The folders in which something changed, with those that are new in them, and the paths that
    are gone.
    """

    folders: Sequence[FolderState]
    gone: frozenset[str]

    @property
    def files(self) -> list[FoundFile]:
        """The capability files in these folders."""
        return [file for state in self.folders for file in state.view.files]


class _LastPaths:
    """The paths that the last build has read."""

    def __init__(self, last: StampedTree) -> None:
        self.awaited = frozenset(last.awaited)
        self._paths = sorted(path for path, _ in chain.from_iterable(last.sections))
        self._owned = {path for path, _ in last.sections[OWNED_FOLDERS]}

    def is_owned(self, folder: str) -> bool:
        """Whether the folder is or belongs to that of a capability."""
        return folder in self._owned

    def below(self, folder: str) -> Iterator[str]:
        """The files and folders in a folder, and all that is in those."""
        prefix = folder.rstrip("/") + "/"
        for place in range(bisect_left(self._paths, prefix), len(self._paths)):
            if not self._paths[place].startswith(prefix):
                return
            yield self._paths[place]

    def inside(self, folder: str) -> set[str]:
        """The files and folders directly in a folder."""
        start = len(folder.rstrip("/")) + 1
        return {path for path in self.below(folder) if "/" not in path[start:]}


def scan_changed_folders(comparison: TreeComparison, last: StampedTree) -> ChangedTree:
    """The part of the tree in which something changed. Raises WiderChangeError where a scan of
    everything could see more.
    """
    paths = _LastPaths(last)
    changed = set(comparison.changed)
    require_narrow_change(
        changed.isdisjoint(paths.awaited), "a file that decides what is read has changed"
    )
    roots = [
        ScanRoot(order, system.abspath(root), resolve_path(root))
        for order, root in enumerate(comparison.request.root_names)
    ]
    require_narrow_change(all(os.path.isdir(root.resolved) for root in roots), "a root is gone")
    # Names that another reader would take for something else are warned about by their folder.
    named = set(comparison.record["named"])
    folders: list[FolderState] = []
    gone: set[str] = set()
    for path in dict.fromkeys(map(_find_folder, comparison.changed)):
        state = _read_folder(_locate_folder(path, roots, paths))
        has_named = bool(state.view.findings) or printable_path(path) in named
        require_narrow_change(
            not has_named or path not in changed, f"names in {path} are warned about"
        )
        known = paths.inside(path)
        _require_same_owner(state, paths)
        folders.append(state)
        new = [inner for inner in state.view.inner if inner.path not in known]
        folders += _read_new_folders(new, _MAX_NEW_FOLDERS - len(folders))
        for entry in known - state.entries - paths.awaited:
            gone.update((entry, *paths.below(entry)))
    own_users = comparison.request.options.links.own_users
    places = [state.folder.resolved for state in folders] if own_users else []
    is_own = all(os.lstat(place).st_uid in own_users for place in places)
    require_narrow_change(is_own, "a folder belongs to another user")
    is_plain = not any(map(_is_guidance, gone)) and named.isdisjoint(map(printable_path, gone))
    require_narrow_change(is_plain, "guidance, or a folder whose names are warned about, is gone")
    return ChangedTree(folders=folders, gone=frozenset(gone))


def _find_folder(path: str) -> str:
    """The folder of this path, or the first one above it that is still there."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _locate_folder(path: str, roots: Sequence[ScanRoot], paths: _LastPaths) -> ScanFolder:
    """The folder below the first root that holds it."""
    for root in roots:
        if is_inside(path, [root.path]):
            names = path[len(root.path.rstrip("/")) :].split("/")[1:]
            require_narrow_change(
                SKIPPED_FOLDERS.isdisjoint(names), f"{path} is read as a declared source"
            )
            folder = root.folder()
            for name in names:
                folder = folder.inner(name)
            is_owned = path != root.path and paths.is_owned(os.path.dirname(path))
            return folder.as_owned() if is_owned else folder
    raise WiderChangeError(f"{path} is outside of the roots")


def _read_folder(folder: ScanFolder) -> FolderState:
    # Files of guidance are not among the entries that a scan of their folder finds.
    require_narrow_change(os.path.basename(folder.path) != GUIDANCE_FOLDER, "guidance has changed")
    view = scan_folder(folder)
    if view is None or not view.is_certain or folder.depth >= MAX_DEPTH:
        raise WiderChangeError(f"{folder.path} holds links, or cannot be read")
    require_narrow_change(
        not any(file.lost for file in view.files), f"a file in {folder.path} is not read"
    )
    return FolderState(folder, view)


def _read_new_folders(folders: Iterable[ScanFolder], limit: int) -> Iterator[FolderState]:
    """Folders that no build has read, with all that is in them."""
    waiting, count = list(folders), 0
    while waiting:
        count += 1
        require_narrow_change(count <= limit, "there are many new folders")
        state = _read_folder(waiting.pop())
        require_narrow_change(
            not state.view.findings, f"names in {state.folder.path} are warned about"
        )
        waiting += state.view.inner
        yield state


def _require_same_owner(state: FolderState, paths: _LastPaths) -> None:
    """Raises WiderChangeError for folders that began or ceased to belong to a capability."""
    was_owned = paths.is_owned(state.folder.path)
    is_same = not state.view.inner or was_owned == (state.section == OWNED_FOLDERS)
    require_narrow_change(
        is_same, f"the folders in {state.folder.path} belong to a capability now, or no longer"
    )


def _is_guidance(path: str) -> bool:
    return GUIDANCE_FOLDER in (os.path.basename(path), os.path.basename(os.path.dirname(path)))
