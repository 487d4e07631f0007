"""What becomes of the capabilities of a covered folder that is gone: unmounted, or on another
branch?

Their last version stays for a while, so that a checkout or a missing disk empties no index. An
unmounted folder is mostly still there, empty and on another file system. Where all files of an
index vanish at once, they stay, too: that is more often an accident than a wish. A last file that
is removed alone goes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import source_for
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store.file_states import FileState

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH112, PTH116

# A week: longer than a holiday weekend, and than most branches live without a rebase.
KEPT_S = 7 * 24 * 3600


def has_expired(since_s: float, now_s: float) -> bool:
    """Whether a folder has been gone for so long that its capabilities go, too. A time in the
    future tells nothing: the build that follows counts from its own time on.
    """
    return not 0 <= now_s - since_s <= KEPT_S


def add_missing_files(
    scan: ScanResult, places: Sequence[str], previous: PreviousBuild, now_s: float
) -> tuple[ScanResult, Mapping[str, float]]:
    """The scan with the files that the last build had in covered folders (`places`) that are gone
    and have not been for too long; and since when each of these folders is gone, in seconds of the
    epoch.
    """
    since = {
        path: min(previous.missing.get(path, now_s), now_s)
        for path in _find_missing(scan, places, previous)
    }
    kept = [path for path, moment in since.items() if not has_expired(moment, now_s)]
    found_paths = {file.path for file in scan.files}
    files = [
        (place, state)
        for state in (previous.files.values() if kept else ())
        if state.path not in found_paths
        # What is there and was not found is refused now, such as a link that lost its trust.
        and not os.path.lexists(state.path)
        and (place := next((place for place in kept if is_inside(state.path, [place])), ""))
    ]
    missing = {path: since[path] for path in kept if any(path == place for place, _ in files)}
    merged = _merge(scan.files, files, places)
    return replace(scan, files=merged), missing


def list_devices(places: Iterable[str], known: Mapping[str, int]) -> dict[str, int]:
    """The number of the file system of each folder; for those of folders that are gone, which are
    `known`, that of the last build.
    """
    devices = dict(known)
    for path in places:
        if path not in devices and os.path.isdir(path):
            devices[path] = os.stat(path).st_dev
    return devices


def _find_missing(
    scan: ScanResult, places: Sequence[str], previous: PreviousBuild
) -> Iterator[str]:
    covered = [path for path in places if path in previous.devices]
    if not scan.files and len(previous.files) > 1:
        yield from covered
        return
    for path in covered:
        if not os.path.isdir(path) or (
            os.stat(path).st_dev != previous.devices[path]
            and not any(is_inside(file.path, [path]) for file in scan.files)
        ):
            yield path


def _merge(
    found: Sequence[FoundFile], missing: Sequence[tuple[str, FileState]], places: Sequence[str]
) -> tuple[FoundFile, ...]:
    """All files, those of a folder that is gone where they would stand if it were there: an
    earlier folder owns an id.
    """
    if not missing:
        return tuple(found)
    ranks = {path: rank for rank, path in enumerate(places)}
    rows: list[tuple[int, FoundFile]] = []
    rank = 0
    for file in found:
        rank = max(
            rank, ranks.get(file.root, rank if file.root_order < len(places) else len(ranks))
        )
        rows.append((rank, file))
    rows += [(ranks[place], _restore_file(state)) for place, state in missing]
    return tuple(file for _, file in sorted(rows, key=lambda row: row[0]))


def _restore_file(state: FileState) -> FoundFile:
    """The file as the last build found it, as far as ids depend on it."""
    size, mtime_ns, ctime_ns, inode = state.stat[:4]
    source = source_for(os.path.basename(state.path))
    return FoundFile(
        path=state.path,
        resolved=state.path,
        size=size,
        mtime_ns=mtime_ns,
        ctime_ns=ctime_ns,
        inode=inode,
        relative=system.relpath(state.path, state.root),
        root=state.root,
        root_order=0,
        format=source.format if source else "",
        is_missing=True,
    )
