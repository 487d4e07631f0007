"""Which stamps does a build leave behind, so that a later look sees what changed since?

See `store.folder_stamps` for the file. The stamps are those that the scan took before anything was
read: a change while the build ran is seen by the next look.

With them lies the record of the build, by which the next one of the same request reports that it
found no change. It is written only for a tree whose stamps tell everything: without links, and
without files that could not be read. Declared sources, which are few files in few places, are
looked for again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.build_request import (
    ABOUT_NAMES,
    NOT_RERANKED,
    BuildRequest,
    TreeComparison,
    TreeRecord,
    describe_request,
    scan_declared_sources,
)
from capdisc_indexer.indexing.changes import StatesByPath
from capdisc_indexer.indexing.file_reader import hash_content, must_read_again
from capdisc_indexer.indexing.previous_build import stamp_generation
from capdisc_indexer.indexing.tree_scan import (
    ChangedTree,
    ScanSnapshot,
    scan_changed_folders,
    scan_folders,
)
from capdisc_indexer.model.errors import WiderChangeError
from capdisc_indexer.model.frozen import replace, shallow_dict
from capdisc_indexer.model.types import BuildReport, DeclaredSource, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path
from capdisc_indexer.store import generation
from capdisc_indexer.store.folder_stamps import (
    FILES,
    UNSETTLED,
    Stamp,
    StampedPath,
    StampedTree,
    read_stamp,
    save_stamps,
    settle,
)

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH110, PTH112, PTH120

# Folders of declared sources, of which few have more than one.
_MAX_DECLARED_FOLDERS = 5_000
_NO_CHANGE = dict.fromkeys(
    ("parsed", "removed_files", "added", "removed", "updated", "embedded"), 0
)


def save_scan_stamps(
    request: BuildRequest,
    snapshot: ScanSnapshot,
    states: StatesByPath,
    report: BuildReport,
    unfinished_paths: Collection[str],
) -> None:
    """Write the stamps of the scan that the published generation was built from, with the states
    of its files. Files whose last version was kept (`unfinished_paths`, as they are printed) count
    as changed.
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
    files = [
        (path, UNSETTLED if printable_path(path) in unfinished_paths else stamp)
        for path, stamp in _file_stamps(scan.files, scan.guidance, snapshot.at_ns)
    ]
    tree = StampedTree(
        roots=request.root_names,
        coverage=request.coverage,
        missing=report.missing,
        awaited=tuple(awaited),
        sections=(
            [*((path, read_stamp(path)) for path in awaited), *folders, *declared],
            files,
            owned_folders,
        ),
        report=b"" if unfinished_paths else _encode_report(request, snapshot, states, report),
    )
    save_stamps(request.index_dir, generation.read_pointer(request.index_dir), tree)


def _scan_again_if_young(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath
) -> ScanSnapshot:
    """The scan, made once more where some of its stamps are so young that a later change could
    have the same ones; the first one where the second finds another tree. `states` are those of
    the files that were built from it.
    """
    files, at_ns = snapshot.scan.files, snapshot.at_ns
    young = _find_young(files, at_ns)
    folders = (stamp for _, stamp in snapshot.stamps.taken)
    if not young and all(settle(stamp, at_ns) != UNSETTLED for stamp in folders):
        return snapshot
    again = scan_folders(request)
    is_same = again.scan == snapshot.scan and _hold_the_same(young, states)
    return again if is_same else snapshot


def _find_young(files: Iterable[FoundFile], at_ns: int) -> list[FoundFile]:
    return [
        file
        for file in files
        if UNSETTLED in (stamp for _, stamp in _file_stamps([file], (), at_ns))
    ]


def _hold_the_same(files: Iterable[FoundFile], states: StatesByPath) -> bool:
    """Whether the files still have the content that was built from."""
    return all(
        file.path in states and states[file.path].content_hash == hash_content(file)
        for file in files
    )


def save_changed_stamps(
    comparison: TreeComparison,
    last: StampedTree,
    tree: ChangedTree,
    states: StatesByPath,
    report: BuildReport,
) -> None:
    """Write the stamps of the changed paths among those of all others (`last`), with the `states`
    of the files in them.
    """
    request, read_at_ns = comparison.request, comparison.compared_at_ns
    young = _find_young(tree.files, read_at_ns)
    folder_stamps = (settle(state.view.stamp, read_at_ns) for state in tree.folders)
    if young or UNSETTLED in folder_stamps:
        now_ns = time.time_ns()
        with suppress(OSError, WiderChangeError):  # changed again
            if scan_changed_folders(comparison, last) == tree and _hold_the_same(young, states):
                read_at_ns = now_ns
    new: tuple[dict[str, Stamp], ...] = ({}, {}, {})
    for state in tree.folders:
        new[state.section][state.folder.path] = settle(state.view.stamp, read_at_ns)
    new[FILES].update(_file_stamps(tree.files, (), read_at_ns))
    left_out = tree.gone.union(*new)
    folders, files, owned_folders = (
        [*(entry for entry in entries if entry[0] not in left_out), *new_entries.items()]
        for entries, new_entries in zip(last.sections, new, strict=True)
    )
    record = b""
    if not report.degraded and not any(map(must_read_again, states.values())):
        record = _encode_record(_update_record(comparison, report))
    save_stamps(
        request.index_dir,
        generation.read_pointer(request.index_dir),
        replace(last, sections=(folders, files, owned_folders), report=record),
    )


def _split_folders(snapshot: ScanSnapshot) -> tuple[list[StampedPath], list[StampedPath]]:
    """The folders in which a capability may appear, and those that belong to one."""
    owners = {
        os.path.dirname(file.path)
        for file in snapshot.scan.files
        if SOURCES[file.format].owns_folder
    }
    open_folders: list[StampedPath] = []
    owned_folders: list[StampedPath] = []
    for folder, stamp in snapshot.stamps.taken:
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


def _encode_report(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath, report: BuildReport
) -> bytes:
    """What `compare_tree` reads; b"" where the stamps of the scan do not tell everything."""
    if not _can_rely_on_stamps(request, snapshot, states, report):
        return b""
    return _encode_record(
        {
            "key": describe_request(request),
            "counts": dict(report.counts),
            "errors": [
                finding for finding in report.findings if finding.severity is Severity.ERROR
            ],
            # A build that published has computed or compared the digest of each file.
            "stored": stamp_generation(request.index_dir, report.generation)
            if report.published
            else {},
            "named": sorted(
                {finding.path.rpartition("/")[0] for finding in snapshot.scan.findings}
            ),
        }
    )


def _encode_record(record: TreeRecord) -> bytes:
    """The record for the next build, which finds no change."""
    counts = {**record["counts"], **_NO_CHANGE, "unchanged": record["counts"]["files"]}
    return json.dumps({**record, "counts": counts}, default=shallow_dict).encode("ascii")


def _update_record(comparison: TreeComparison, report: BuildReport) -> TreeRecord:
    """What a build that looked at a part of the tree leaves behind."""
    record = comparison.record
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    stored = record["stored"]
    if report.published:
        stored = stamp_generation(comparison.request.index_dir, report.generation)
    return {**record, "counts": report.counts, "errors": errors, "stored": stored}


def _can_rely_on_stamps(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath, report: BuildReport
) -> bool:
    scan = snapshot.scan
    known_findings = set(scan_declared_sources(request).findings)
    return (
        request.options.max_files is None
        # That time passes shows in no stamp.
        and not report.missing
        # Of a root that is a file, the stamps do not show what appears next to it.
        and all(map(os.path.isdir, request.root_names))
        and not snapshot.stamps.uncertain_count
        and not scan.outside_places
        and not scan.waiting
        and all(
            finding.code in ABOUT_NAMES or finding in known_findings for finding in scan.findings
        )
        and not report.held_definitions
        # A reranker is tried again when something changes, or with --rebuild.
        and all(text.startswith(NOT_RERANKED) for text in report.degraded)
        and not any(map(_has_links, scan.files))
        and not any(map(must_read_again, states.values()))
    )


def _has_links(file: FoundFile) -> bool:
    return bool(file.lost or file.other_paths or file.link_target)
