"""Which stamps does a build leave behind, so that a later look sees what changed since?

See `store.folder_stamps` for the file. The stamps are those that the scan took before anything was
read: a change while the build ran is seen by the next look.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.build_plan import BuildRequest
from capdisc_indexer.indexing.cached_scan import ScanSnapshot, scan_with_cache
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.changed_tree import ChangedTree
from capdisc_indexer.indexing.file_reader import hash_content, must_read_again
from capdisc_indexer.indexing.unchanged_tree import (
    TreeComparison,
    encode_record,
    encode_report,
    update_record,
)
from capdisc_indexer.model.types import BuildReport, DeclaredSource
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path
from capdisc_indexer.store import generation
from capdisc_indexer.store.file_states import FileState
from capdisc_indexer.store.folder_stamps import (
    FILES,
    UNSETTLED,
    Stamp,
    StampedPath,
    StampedTree,
    read_stamp,
    save_stamps,
    settle,
    write_stamps,
)
from capdisc_indexer.store.stamp_file import StampEdits, StampFile

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH110, PTH112, PTH120

# Folders of declared sources, of which few have more than one.
_MAX_DECLARED_FOLDERS = 5_000


def save_scan_stamps(
    request: BuildRequest,
    snapshot: ScanSnapshot,
    states: StatesByPath,
    report: BuildReport,
    unfinished_paths: Collection[str],
) -> None:
    """Write the stamps of the scan that the published generation was built from, with the states of
    its files. Files whose last version was kept (`unfinished_paths`, as they are printed) count as
    changed.
    """
    snapshot = _scan_again_if_young(request, snapshot, states)
    options, scan = request.options, snapshot.scan
    awaited = dict.fromkeys(options.awaited)
    if report.held_definitions and options.guard:
        awaited[options.guard.memory] = None  # an approval changes what is left out
    folders, owned_folders = _split_folders(snapshot)
    declared = [
        (path, settle(read_stamp(path), snapshot.at_ns))
        for path in dict.fromkeys(_declared_folders(options.sources))
    ]
    tree = StampedTree(
        roots=request.root_names,
        coverage=request.coverage,
        missing=report.missing,
        awaited=tuple(awaited),
        folders=[*folders, *declared],
        files=[
            (path, UNSETTLED if printable_path(path) in unfinished_paths else stamp)
            for path, stamp in _file_stamps(scan.files, scan.guidance, snapshot.at_ns)
        ],
        owned_folders=owned_folders,
        report=b"" if unfinished_paths else encode_report(request, snapshot, states, report),
    )
    save_stamps(request.index_dir, generation.read_pointer(request.index_dir), tree)


def _scan_again_if_young(
    request: BuildRequest, snapshot: ScanSnapshot, files: StatesByPath
) -> ScanSnapshot:
    """The scan, made once more where some of its stamps are so young that a later change could have
    the same ones; the first one where the second finds another tree. `files` are the states that
    were built from it.
    """
    young = [
        file
        for file in snapshot.scan.files
        if UNSETTLED in (stamp for _, stamp in _file_stamps([file], (), snapshot.at_ns))
    ]
    folders = (stamp for _, stamp in snapshot.memory.stamps)
    if not young and all(settle(stamp, snapshot.at_ns) != UNSETTLED for stamp in folders):
        return snapshot
    options = request.options
    again = scan_with_cache(
        request.roots,
        options.sources,
        request.index_dir,
        snapshot,
        confined=options.confined,
        links=options.links,
    )
    is_same = again.scan == snapshot.scan and all(
        file.path in files and files[file.path].content_hash == hash_content(file)
        for file in young
    )
    return again if is_same else snapshot


def save_changed_stamps(
    comparison: TreeComparison,
    stamps: StampFile,
    tree: ChangedTree,
    states: StatesByPath,
    report: BuildReport,
) -> None:
    """Write the stamps of the changed paths among those of all others, with the `states` of the
    files in them.
    """
    request, read_at_ns = comparison.request, comparison.compared_at_ns
    entries = dict(tree.settle_folders(read_at_ns, time.time_ns()))
    for file in tree.files:
        new_stamps = dict(_file_stamps([file], (), read_at_ns))
        young = [path for path, stamp in new_stamps.items() if stamp == UNSETTLED]
        if young:
            new_stamps.update(_settle_again(file, young, states[file.path]))
        entries.update((path, (FILES, stamp)) for path, stamp in new_stamps.items())
    record = b""
    if not report.degraded and not any(map(must_read_again, states.values())):
        record = encode_record(update_record(comparison, report))
    pointer = generation.read_pointer(request.index_dir)
    edits = StampEdits(entries=entries, gone=tree.gone)
    write_stamps(request.index_dir, stamps.apply_edits(pointer, edits, record))


def _settle_again(file: FoundFile, young: Sequence[str], state: FileState) -> Mapping[str, Stamp]:
    """The stamps of a file that was read too soon after it was written, if it is still the same."""
    now_ns = time.time_ns()
    stamps = {path: read_stamp(path) for path in young}
    seen = {
        stat.path: (stat.mtime_ns, stat.ctime_ns, stat.size) for stat in (file, *file.companions)
    }
    if any(seen[path] != stamp for path, stamp in stamps.items()):
        return {}
    if hash_content(file) != state.content_hash:
        return {}
    return {path: settle(stamp, now_ns) for path, stamp in stamps.items()}


def _split_folders(snapshot: ScanSnapshot) -> tuple[list[StampedPath], list[StampedPath]]:
    """The folders in which a capability may appear, and those that belong to one."""
    owners = {
        os.path.dirname(file.path)
        for file in snapshot.scan.files
        if SOURCES[file.format].owns_folder
    }
    open_folders: list[StampedPath] = []
    owned_folders: list[StampedPath] = []
    for folder, stamp in snapshot.memory.stamps:
        entry = (folder.path, settle(stamp, snapshot.at_ns))
        is_owned = folder.owned or folder.path in owners
        (owned_folders if is_owned else open_folders).append(entry)
    return open_folders, owned_folders


def _file_stamps(
    files: Iterable[FoundFile], guidance: Iterable[FileStat], at_ns: int
) -> Iterator[StampedPath]:
    stats = [stat for file in files for stat in (file, *file.companions)]
    for stat in (*stats, *guidance):
        yield stat.path, settle((stat.mtime_ns, stat.ctime_ns, stat.size), at_ns)


def _declared_folders(sources: Iterable[DeclaredSource]) -> Iterator[str]:
    """The paths whose change shows that a declared source has other files now."""
    for source in sources:
        base, pattern = source.path, ""
        if not os.path.exists(base):
            base, pattern = fixed_part(source.path)
        yield base
        if os.path.isdir(base) and (not pattern or "/" in pattern or "**" in pattern):
            yield from _folders_below(base)


def _folders_below(base: str) -> Iterator[str]:
    count = 0
    for folder, inner, _ in os.walk(base):
        inner[:] = [name for name in inner if name not in SKIPPED_FOLDERS]
        for name in inner:
            yield system.join(folder, name)
        count += len(inner)
        if count > _MAX_DECLARED_FOLDERS:
            return
