"""How does a build end that finds a few changed files, without a look at all others?

A build of 10,000 files in which one changed, came or went spent its time on the other 9,999: a scan
of all folders, the states of all files, every id, every overview. The stamps beside the index show
which paths changed (`unchanged_tree`); here their folders alone are scanned (`changed_tree`), and
their files alone are read. Everything else is taken from the last generation as bytes
(`patched_generation`).

That is right only while the change reaches nothing else: no error, no copies, and no id that
another file has or had a claim to (`small_resolution`). In every other case, and wherever anything
fails, the answer is None, nothing was published, and a build of everything follows.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.build_plan import BuildPlan, BuildRequest, WrittenGeneration
from capdisc_indexer.indexing.change_detection import (
    Changes,
    Review,
    StatesByPath,
    detect_changes,
    review_parsed_files,
)
from capdisc_indexer.indexing.changed_tree import (
    ChangedTree,
    WiderChangeError,
    require,
    scan_changed_folders,
)
from capdisc_indexer.indexing.file_reader import DescriptorSpool, FileReader, hash_content
from capdisc_indexer.indexing.previous_build import (
    FileStamp,
    PreviousBuild,
    load_last_scan,
    repeat_scan_record,
    save_later_scan,
    stamp_generation,
)
from capdisc_indexer.indexing.small_resolution import resolve_small_change
from capdisc_indexer.indexing.unchanged_tree import (
    TreeComparison,
    TreeRecord,
    encode_record,
    report_no_change,
)
from capdisc_indexer.indexing.worker_pool import WorkerPool
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, CapdiscError
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.json_types import ScanRecord
from capdisc_indexer.model.types import BuildReport, Finding
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile
from capdisc_indexer.store import generation
from capdisc_indexer.store.file_states import FileState, StateLines, content_hashes_by_id
from capdisc_indexer.store.folder_stamps import (
    FILES,
    UNSETTLED,
    Stamp,
    read_stamp,
    settle,
    write_stamps,
)
from capdisc_indexer.store.stamp_file import StampEdits, StampFile
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.masking import redact_findings

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH100

# The stamps of more files than these, which later scans found changed and nothing else, are written
# down by a build of everything.
_MAX_LATER_STAMPS = 200


@frozen(kw_only=True)
class SmallChange:
    """A change that reaches its own files alone: the plan of the build, in which the states are
    those of the files in question and of no others; the states of files that are gone; the lines of
    all states, the record of the last scan, the stamps of the last generation's files, and states
    with new stamps alone.
    """

    plan: BuildPlan
    removed: StatesByPath
    lines: StateLines
    scan: ScanRecord
    stored: Mapping[str, FileStamp]
    restamped: StatesByPath = field(default_factory=dict)

    @property
    def old_states(self) -> StatesByPath:
        """The last states of the files that changed or are gone."""
        previous = self.plan.previous.files
        changed = {path: previous[path] for path in self.plan.changes.files if path in previous}
        return {**changed, **self.removed}

    @property
    def old_ids(self) -> Set[str]:
        """The ids that these files had in the index."""
        return content_hashes_by_id(self.old_states).keys()

    @property
    def new_ids(self) -> Set[str]:
        """The ids that the files have now."""
        return content_hashes_by_id(self.plan.changes.files).keys()


def build_small_change(comparison: TreeComparison) -> BuildReport | None:
    """The report of a build that published what changed, if that reaches nothing else; None where
    everything has to be looked at, and nothing was published.
    """
    try:
        with (
            DescriptorSpool(comparison.request.index_dir) as spool,
            WorkerPool(None) as workers,
        ):
            return _build(comparison, spool, workers)
    except (WiderChangeError, CapdiscError, OSError, *MALFORMED_DATA_ERRORS):
        return None  # the build of everything that follows says what is wrong


def _build(comparison: TreeComparison, spool: DescriptorSpool, workers: WorkerPool) -> BuildReport:
    request, options = comparison.request, comparison.request.options
    stamps = StampFile(request.index_dir)
    tree = scan_changed_folders(comparison, stamps)
    last = _load_last_build(comparison, tree)
    reader = FileReader(last.build, spool, options)
    states = reader.read_states(tree.files, workers, request.progress)
    scan = ScanResult(
        files=tuple(file for file in tree.files if reader.was_parsed(file.path)), findings=()
    )
    change = _plan_change(comparison, tree, last, reader, states, scan)
    change_count = len(change.plan.changes.files) + len(change.removed)
    require(options.max_changes is None or change_count <= options.max_changes)
    if not change_count:
        _save_touched(comparison, last, states)
        _save_stamps(comparison, stamps, tree, states, comparison.record)
        return report_no_change(comparison)
    # Brings all that writes documents and vectors.
    from capdisc_indexer.indexing.patched_generation import write_patched_generation

    parsed_states = change.plan.changes.files
    review = partial(review_parsed_files, scan, parsed_states, reader, last.build, options)
    written, review_result = write_patched_generation(change, workers, review)
    report = _report(comparison, change, written, review_result)
    stored = stamp_generation(request.index_dir, written.generation)
    record: TreeRecord = {**comparison.record, "counts": report.counts, "stored": stored}
    _save_stamps(comparison, stamps, tree, states, record)
    return report


def _plan_change(
    comparison: TreeComparison,
    tree: ChangedTree,
    last: _LastBuild,
    reader: FileReader,
    states: StatesByPath,
    scan: ScanResult,
) -> SmallChange:
    """The change, given the states of all files of the tree, and of them the parsed ones as a scan.
    Raises WiderChangeError where it reaches other files.
    """
    require(not reader.unfinished_findings)
    old_states = last.build.files
    removed = {path: old_states[path] for path in tree.gone & old_states.keys()}
    _require_same_roots(comparison, removed, last.lines)
    parsed_states = [states[file.path] for file in scan.files]
    resolved = resolve_small_change(parsed_states, removed, last.build, last.lines)
    changes = detect_changes(scan, resolved, reader, old_states, Review())
    require(changes.files == resolved)  # a file that changed again has lost ids
    kept = {path: state for path, state in old_states.items() if path not in tree.gone}
    return SmallChange(
        plan=BuildPlan(
            request=comparison.request,
            previous=last.build,
            changes=changes,
            selected=comparison.selected,
            scanned_at_ns=comparison.compared_at_ns,
        ),
        removed=removed,
        lines=last.lines,
        scan=last.scan,
        stored=comparison.record["stored"],
        restamped={**kept, **states},
    )


# What was there before.


class _LastBuild(NamedTuple):
    """The last build, as far as the files of a change go and those that a later scan found touched;
    the lines of all states, and the record of the last scan.
    """

    build: PreviousBuild
    lines: StateLines
    scan: ScanRecord


def _load_last_build(comparison: TreeComparison, tree: ChangedTree) -> _LastBuild:
    index_dir, published = comparison.request.index_dir, comparison.published
    folder = generation.generation_folder(index_dir, published.number)
    last_scan = load_last_scan(index_dir, folder, published.number)
    later_stats = last_scan["stats"]
    require(len(later_stats) <= _MAX_LATER_STAMPS)
    lines = StateLines(folder / "meta" / "files.json")
    states: dict[str, FileState] = {}
    for path in dict.fromkeys([*(file.path for file in tree.files), *tree.gone, *later_stats]):
        if state := lines.find(path):
            later_stat = later_stats.get(path)
            states[path] = state._replace(stat=tuple(later_stat)) if later_stat else state
    old_files = [file for file in tree.files if file.path in states]
    require(all(states[file.path].root == file.root for file in old_files))
    nearest = json.loads((folder / "meta" / "probes.json").read_bytes())
    build = PreviousBuild(
        generation=published,
        folder=folder,
        files=states,
        nearest=[(distance, text_hash) for distance, text_hash in nearest],
        scanned_at_ns=last_scan["scanned_at_ns"],
        roots=comparison.request.root_names,
        encoder=published.encoder,
    )
    return _LastBuild(build, lines, last_scan)


def _require_same_roots(
    comparison: TreeComparison, removed: StatesByPath, lines: StateLines
) -> None:
    """Raises WiderChangeError where the states would have other roots, or are not in the order of
    roots and paths.
    """
    request = comparison.request
    roots = [os.path.abspath(root) for root in request.root_names]
    places = {
        place
        for source in request.options.sources
        for place in (source.path, fixed_part(source.path)[0])
    }
    require(len(set(roots)) == len(roots) and places.isdisjoint(roots))
    removed_counts = Counter(state.root for state in removed.values())
    require(all(lines.count_files(root) > count for root, count in removed_counts.items()))


# What the next build finds.


def _save_touched(comparison: TreeComparison, last: _LastBuild, states: StatesByPath) -> None:
    """Write down the new stamps of files whose content is that of the last build."""
    stats = {
        path: state.stat for path, state in states.items() if state is not last.build.files[path]
    }
    if stats:
        save_later_scan(
            comparison.request.index_dir,
            comparison.published.number,
            repeat_scan_record(last.scan, comparison.compared_at_ns),
            {**last.scan["stats"], **stats},
        )


def _save_stamps(
    comparison: TreeComparison,
    stamps: StampFile,
    tree: ChangedTree,
    states: StatesByPath,
    record: TreeRecord,
) -> None:
    """Write the stamps of the changed paths among those of all others."""
    index_dir, read_at_ns = comparison.request.index_dir, comparison.compared_at_ns
    entries = dict(tree.settle_folders(read_at_ns, time.time_ns()))
    for file in tree.files:
        statuses = (file, *file.companions)
        new_stamps = {status.path: _settle_status(status, read_at_ns) for status in statuses}
        young = [status for status in statuses if new_stamps[status.path] == UNSETTLED]
        if young:
            new_stamps.update(_settle_again(file, young, states[file.path]))
        entries.update((path, (FILES, stamp)) for path, stamp in new_stamps.items())
    pointer = generation.read_pointer(index_dir)
    edits = StampEdits(entries=entries, gone=tree.gone)
    write_stamps(index_dir, stamps.apply_edits(pointer, edits, encode_record(record)))


def _settle_status(status: FileStat, read_at_ns: int) -> Stamp:
    return settle((status.mtime_ns, status.ctime_ns, status.size), read_at_ns)


def _settle_again(
    file: FoundFile, young: Sequence[FileStat], state: FileState
) -> Mapping[str, Stamp]:
    """The stamps of a file that was read too soon after it was written, if it is still the same."""
    now_ns = time.time_ns()
    stamps = {status.path: read_stamp(status.path) for status in young}
    is_same = all(
        stamps[status.path] == (status.mtime_ns, status.ctime_ns, status.size) for status in young
    )
    if not is_same or hash_content(file) != state.content_hash:
        return {}
    return {path: settle(stamp, now_ns) for path, stamp in stamps.items()}


def _report(
    comparison: TreeComparison, change: SmallChange, written: WrittenGeneration, review: Review
) -> BuildReport:
    changes, published = change.plan.changes, written.generation
    old_ids, new_ids = change.old_ids, change.new_ids
    changed_ids = {
        "added": tuple(sorted(new_ids - old_ids)),
        "updated": tuple(sorted(old_ids & changes.descriptors.keys())),
        "removed": tuple(sorted(old_ids - new_ids)),
    }
    counts = {
        **comparison.record["counts"],
        "files": published.counts["files"],
        "parsed": len(changes.files),
        "unchanged": published.counts["files"] - len(changes.files),
        "removed_files": len(change.removed),
        "capabilities": published.counts["capabilities"],
        **{name: len(ids) for name, ids in changed_ids.items()},
        "embedded": written.embedded_count,
    }
    return replace(
        report_no_change(comparison),
        generation=published,
        published=True,
        counts=counts,
        findings=(
            *comparison.record["errors"],
            *_mask_findings(comparison.request, changes),
        ),
        degraded=review.notices,
        changed_definitions=review.changed_ids,
        changed_ids=changed_ids,
    )


def _mask_findings(request: BuildRequest, changes: Changes) -> Sequence[Finding]:
    places = (
        *request.root_names,
        *(fixed_part(source.path)[0] for source in request.options.sources),
    )
    findings = [finding for state in changes.files.values() for finding in state.findings]
    return tuple(redact_findings(findings, SourceLines(places).text))
