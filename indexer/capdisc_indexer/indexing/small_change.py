"""How does a build end that finds a few changed files, without a look at all others?

A build of 10,000 files in which one changed spent its time on the other 9,999: a scan of all
folders, the states of all files, every id, every overview. The stamps beside the index show which
paths changed (`unchanged_tree`); here their folders alone are scanned, and their files alone are
read. Everything else is taken from the last generation as bytes (`patched_generation`).

That is right only while the change reaches nothing else: the same files and ids as before, no
error, and no copies. In every other case, and wherever anything fails, the
answer is None, nothing was published, and a build of everything follows.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from functools import partial

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.indexing.build_plan import BuildPlan, BuildRequest, WrittenGeneration
from capdisc_indexer.indexing.cached_scan import FolderView, scan_folder
from capdisc_indexer.indexing.change_detection import (
    Changes,
    Review,
    StatesByPath,
    detect_changes,
    review_parsed_files,
)
from capdisc_indexer.indexing.file_reader import (
    DescriptorSpool,
    FileReader,
    hash_content,
    is_stale,
    must_read_again,
)
from capdisc_indexer.indexing.previous_build import (
    FileStamp,
    PreviousBuild,
    load_last_scan,
    repeat_scan_record,
    save_later_scan,
    stamp_generation,
)
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
from capdisc_indexer.model.types import BuildReport, Finding, Severity
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.folder_tree import (
    GUIDANCE_FOLDER,
    MAX_DEPTH,
    ScanFolder,
    ScanRoot,
    is_inside,
)
from capdisc_indexer.sources.scan.scanned_files import FileStat, FoundFile, printable_path
from capdisc_indexer.store import generation
from capdisc_indexer.store.file_states import HELD, DeclaredId, FileState, StateLines
from capdisc_indexer.store.folder_stamps import (
    UNSETTLED,
    Stamp,
    StampFile,
    read_stamp,
    settle,
    write_stamps,
)
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.masking import redact_findings

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH100, PTH112, PTH120

# The stamps of more files than these, which later scans found changed and nothing else, are written
# down by a build of everything.
_MAX_LATER_STAMPS = 200


class WiderChangeError(Exception):
    """The change reaches more than the changed files."""


def require(holds: bool) -> None:
    """Raises WiderChangeError unless the condition for a small change holds."""
    if not holds:
        raise WiderChangeError


@frozen(kw_only=True)
class ChangedTree:
    """The files of the folders in which something changed, and the stamps of those folders."""

    files: Sequence[FoundFile]
    folder_stamps: Mapping[str, Stamp]


@frozen(kw_only=True)
class SmallChange:
    """A change that reaches its own files alone: the plan of the build, in which the states are
    those of the files in question and of no others; the lines of all states, the record of the last
    scan, the stamps of the last generation's files, and states with new stamps alone.
    """

    plan: BuildPlan
    lines: StateLines
    scan: ScanRecord
    stored: Mapping[str, FileStamp]
    restamped: StatesByPath = field(default_factory=dict)


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
    tree = _scan_changed_folders(comparison, stamps)
    previous, lines, last_scan = _load_states(comparison, tree.files)
    reader = FileReader(previous, spool, options)
    states = reader.read_states(tree.files, workers, request.progress)
    parsed = [file for file in tree.files if reader.was_parsed(file.path)]
    require(not reader.unfinished_findings)
    require(options.max_changes is None or len(parsed) <= options.max_changes)
    touched = {path: state for path, state in states.items() if state is not previous.files[path]}
    if not parsed:
        _save_touched(comparison, last_scan, touched)
        _save_stamps(comparison, stamps, tree, states, comparison.record)
        return report_no_change(comparison)
    resolved = _resolve_as_before([states[file.path] for file in parsed], previous, lines)
    scan = ScanResult(files=tuple(parsed), findings=())
    changes = detect_changes(scan, resolved, reader, previous.files, Review())
    require(changes.files.keys() == resolved.keys())
    require(all(map(_has_all_ids, changes.files.values(), resolved.values())))
    plan = BuildPlan(
        request=request,
        previous=previous,
        changes=changes,
        selected=comparison.selected,
        scanned_at_ns=comparison.compared_at_ns,
    )
    later = {path: state for path, state in previous.files.items() if path not in resolved}
    change = SmallChange(
        plan=plan,
        lines=lines,
        scan=last_scan,
        stored=comparison.record["stored"],
        restamped={**later, **states},
    )
    # Brings all that writes documents and vectors.
    from capdisc_indexer.indexing.patched_generation import write_patched_generation

    review = partial(review_parsed_files, scan, resolved, reader, previous, options)
    written, review_result = write_patched_generation(change, workers, review)
    counts = {
        **comparison.record["counts"],
        "parsed": len(parsed),
        "unchanged": comparison.record["counts"]["files"] - len(parsed),
        "updated": len(changes.descriptors),
        "embedded": written.embedded_count,
    }
    stored = stamp_generation(request.index_dir, written.generation)
    record: TreeRecord = {**comparison.record, "counts": counts, "stored": stored}
    _save_stamps(comparison, stamps, tree, states, record)
    return _report(comparison, changes, written, review_result, counts)


# What is there now.


def _scan_changed_folders(comparison: TreeComparison, stamps: StampFile) -> ChangedTree:
    """Raises WiderChangeError where a folder has other entries than for the last build."""
    request, changed = comparison.request, set(comparison.changed)
    require(changed.isdisjoint(stamps.awaited))
    roots = [
        ScanRoot(order, os.path.abspath(root), os.path.realpath(root))
        for order, root in enumerate(request.root_names)
    ]
    require(all(os.path.isdir(root.resolved) for root in roots))
    folders = dict.fromkeys(
        path if os.path.isdir(path) else os.path.dirname(path) for path in comparison.changed
    )
    files: list[FoundFile] = []
    folder_stamps: dict[str, Stamp] = {}
    for path in folders:
        view = _view_folder(path, roots, stamps)
        # Names that another reader would take for something else are warned about by their folder.
        is_named_alike = (
            not view.findings and printable_path(path) not in comparison.record["named"]
        )
        require(is_named_alike or path not in changed)
        files += view.files
        folder_stamps[path] = view.stamp
    return ChangedTree(files=files, folder_stamps=folder_stamps)


def _view_folder(path: str, roots: Sequence[ScanRoot], stamps: StampFile) -> FolderView:
    # Files of guidance are no entries that a scan of their folder finds.
    require(os.path.basename(path) != GUIDANCE_FOLDER)
    folder = _locate_folder(path, roots, stamps)
    view = scan_folder(folder)
    if view is None or not view.is_certain or folder.depth >= MAX_DEPTH:
        raise WiderChangeError
    found = {status.path for file in view.files for status in (file, *file.companions)}
    known = stamps.entries_in(path)
    require(not ((found | set(view.inner)) ^ known) - stamps.awaited)
    require(not any(file.lost for file in view.files))
    return view


def _locate_folder(path: str, roots: Sequence[ScanRoot], stamps: StampFile) -> ScanFolder:
    """The folder below the first root that holds it."""
    for root in roots:
        if is_inside(path, [root.path]):
            folder = root.folder()
            for name in path[len(root.path.rstrip("/")) :].split("/")[1:]:
                folder = folder.inner(name)
            is_owned = path != root.path and stamps.is_owned(os.path.dirname(path))
            return folder.as_owned() if is_owned else folder
    raise WiderChangeError


# What was there before.


def _load_states(
    comparison: TreeComparison, files: Sequence[FoundFile]
) -> tuple[PreviousBuild, StateLines, ScanRecord]:
    """The last build, as far as these files go and those that a later scan found touched."""
    index_dir, published = comparison.request.index_dir, comparison.published
    folder = generation.generation_folder(index_dir, published.number)
    last_scan = load_last_scan(index_dir, folder, published.number)
    require(len(last_scan["stats"]) <= _MAX_LATER_STAMPS)
    lines = StateLines(folder / "meta" / "files.json")
    states: dict[str, FileState] = {}
    for path in dict.fromkeys([*(file.path for file in files), *last_scan["stats"]]):
        state = lines.find(path)
        if state is None:
            raise WiderChangeError
        later_stat = last_scan["stats"].get(path)
        states[path] = state._replace(stat=tuple(later_stat)) if later_stat else state
    require(all(states[file.path].root == file.root for file in files))
    nearest = json.loads((folder / "meta" / "probes.json").read_bytes())
    previous = PreviousBuild(
        generation=published,
        folder=folder,
        files=states,
        nearest=[(distance, text_hash) for distance, text_hash in nearest],
        scanned_at_ns=last_scan["scanned_at_ns"],
        roots=comparison.request.root_names,
        encoder=published.encoder,
    )
    return previous, lines, last_scan


def _resolve_as_before(
    states: Sequence[FileState], previous: PreviousBuild, lines: StateLines
) -> StatesByPath:
    """The states of the parsed files with the final ids of before. Raises WiderChangeError where
    an id may have another owner now.

    Who owns an id depends on the ids, on the places of files, and on which files are copies of each
    other (`id_resolution`). So nothing changes while a file declares the same ids, and had and has
    a content that no other file has.
    """
    old_states = [previous.files[state.path] for state in states]
    require(all(map(_has_no_error, (*old_states, *states))))
    paths = [state.path for state in states]
    hashes = [state.content_hash for state in (*old_states, *states)]
    require(len(set(hashes)) == len(hashes))
    require(not any(lines.is_named_elsewhere(text, paths) for text in hashes))
    return {
        state.path: _resolve_state(state, old_state)
        for old_state, state in zip(old_states, states, strict=True)
    }


def _resolve_state(state: FileState, old_state: FileState) -> FileState:
    names = [declared.id for declared in state.declared_ids]
    require(names == [declared.id for declared in old_state.declared_ids])
    require(all(declared.status != HELD for declared in old_state.declared_ids))
    return state.with_declared_ids(
        DeclaredId(old.id, old.resolved_id, old.status, old.other_path)
        for old in old_state.declared_ids
    )


def _has_no_error(state: FileState) -> bool:
    return not (
        state.read_as
        or must_read_again(state)
        or is_stale(state)
        or any(finding.severity is Severity.ERROR for finding in state.findings)
    )


def _has_all_ids(state: FileState, resolved: FileState) -> bool:
    return len(state.declared_ids) == len(resolved.declared_ids)


# What the next build finds.


def _save_touched(
    comparison: TreeComparison, last_scan: ScanRecord, touched: StatesByPath
) -> None:
    """Write down the new stamps of files whose content is that of the last build."""
    if touched:
        stats = {path: state.stat for path, state in touched.items()}
        save_later_scan(
            comparison.request.index_dir,
            comparison.published.number,
            repeat_scan_record(last_scan, comparison.compared_at_ns),
            {**last_scan["stats"], **stats},
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
    new_stamps = {path: settle(stamp, read_at_ns) for path, stamp in tree.folder_stamps.items()}
    for file in tree.files:
        for status in (file, *file.companions):
            stamp = (status.mtime_ns, status.ctime_ns, status.size)
            new_stamps[status.path] = settle(stamp, read_at_ns)
        young = [s for s in (file, *file.companions) if new_stamps[s.path] == UNSETTLED]
        if young:
            new_stamps.update(_settle_again(file, young, states[file.path]))
    pointer = generation.read_pointer(index_dir)
    write_stamps(index_dir, stamps.replaced(pointer, new_stamps, encode_record(record)))


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
    comparison: TreeComparison,
    changes: Changes,
    written: WrittenGeneration,
    review: Review,
    counts: Mapping[str, int],
) -> BuildReport:
    return replace(
        report_no_change(comparison),
        generation=written.generation,
        published=True,
        counts=counts,
        findings=(
            *comparison.record["errors"],
            *_mask_findings(comparison.request, changes),
        ),
        degraded=review.notices,
        changed_definitions=review.changed_ids,
        changed_ids={
            "added": (),
            "updated": tuple(sorted(changes.descriptors)),
            "removed": (),
        },
    )


def _mask_findings(request: BuildRequest, changes: Changes) -> Sequence[Finding]:
    places = (
        *request.root_names,
        *(fixed_part(source.path)[0] for source in request.options.sources),
    )
    findings = [finding for state in changes.files.values() for finding in state.findings]
    return tuple(redact_findings(findings, SourceLines(places)))
