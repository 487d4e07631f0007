"""The index pipeline: scan the folders, read what changed, write and publish the next generation.

`_run_build` shows every stage up to the decision whether there is anything to publish,
`_write_generation` every stage after it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from capdisc_indexer.indexing.build_plan import (
    BuildPlan,
    BuildRequest,
    WrittenGeneration,
    is_unchanged,
    keep_generation,
    select_encoder,
    summarise_build,
)
from capdisc_indexer.indexing.cached_scan import ScanSnapshot, save_cache, scan_with_cache
from capdisc_indexer.indexing.change_detection import detect_changes, review_parsed_files
from capdisc_indexer.indexing.file_reader import (
    DescriptorSpool,
    FileReader,
    Progress,
    require_few_changes,
)
from capdisc_indexer.indexing.id_resolution import resolve_ids
from capdisc_indexer.indexing.missing_folders import add_missing_files
from capdisc_indexer.indexing.previous_build import (
    PreviousBuild,
    after_failed_reuse,
    check_digests,
    load_previous_build,
)
from capdisc_indexer.indexing.scan_stamps import save_scan_stamps
from capdisc_indexer.indexing.unchanged_tree import compare_tree, report_no_change
from capdisc_indexer.indexing.worker_pool import GC_THRESHOLDS, BackgroundTask, WorkerPool
from capdisc_indexer.model.errors import (
    MALFORMED_DATA_ERRORS,
    CapdiscError,
    DamagedIndexError,
    IndexStateError,
)
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport
from capdisc_indexer.store import durable_files, generation, locks, native_errors, publication


def _ignore_progress(stage: str, done: int, total: int) -> None:
    pass


def build_index(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    progress: Progress = _ignore_progress,
    snapshot: ScanSnapshot | None = None,
) -> BuildReport:
    """The report of a build that brought the index up to date with the folders.

    Whatever happens, the last published generation stays as it was. `snapshot` is a scan of the
    same roots that the caller made a moment ago; without it the folders are scanned here.

    Raises BusyError when another process keeps writing, InputError for a root that does not exist,
    IndexStateError when the disk refuses or this user may not write the index, ManyChangesError
    when more files changed than the options allow.
    """
    started = time.monotonic()
    request = BuildRequest(roots=roots, index_dir=index_dir, options=options, progress=progress)
    with durable_files.translate_disk_errors(index_dir), _reduced_gc():
        generation.check_folder(index_dir)
        with locks.write_lock(index_dir, options.lock_timeout_s):
            publication.sweep(index_dir)
            if quick_report := _build_quickly(request):
                publication.collect(index_dir, quick_report.generation.number)
                return replace(quick_report, seconds=time.monotonic() - started)
            previous = load_previous_build(
                index_dir,
                options.rebuild,
                options.verify,
                options.builder_id,
                options.passage_limits,
            )
            _require_rebuild_allowed(previous, options)
            try:
                report = _run_build(request, previous, snapshot)
            except (DamagedIndexError, *MALFORMED_DATA_ERRORS) as error:
                # The last generation opened, but it does not hold what its manifest promises:
                # build again, and reuse nothing of it.
                previous = after_failed_reuse(index_dir, previous, error)
                _require_rebuild_allowed(previous, options)
                report = _run_build(request, previous, snapshot)
            publication.collect(index_dir, report.generation.number)
        count = report.generation.counts["capabilities"]
        if _writes_table(previous, options, count) and report.published:
            report = _write_table(report, index_dir, options)
    return replace(report, seconds=time.monotonic() - started)


def _build_quickly(request: BuildRequest) -> BuildReport | None:
    """The report of a build that needs the stamps of everything, and the content of nothing but a
    few changed files; None where that does not suffice.
    """
    comparison = compare_tree(request)
    if comparison is None:
        return None
    if not comparison.changed:
        return report_no_change(comparison)
    # A build that finds no change does without what this brings.
    from capdisc_indexer.indexing.small_change import build_small_change

    return build_small_change(comparison)


def _write_table(report: BuildReport, index_dir: Path, options: BuildOptions) -> BuildReport:
    """Writes the LanceDB table after a build from nothing, which has imported LanceDB; after others
    a process aside does that. Without a table the index answers, so a failure is a notice.
    """
    from capdisc_indexer.indexing.table_update import update_table

    try:
        update_table(index_dir, options.builder_id, options.lock_timeout_s)
    except (CapdiscError, OSError) as error:
        reason = error.message if isinstance(error, CapdiscError) else error.strerror or str(error)
        return replace(
            report, degraded=(*report.degraded, f"the LanceDB table is behind: {reason}")
        )
    return report


def _run_build(
    request: BuildRequest, previous: PreviousBuild, snapshot: ScanSnapshot | None
) -> BuildReport:
    options = request.options
    # The digest of the encoder is checked in a thread while files are read.
    selection = BackgroundTask(partial(select_encoder, options, previous.encoder))
    snapshot = snapshot or _scan_folders(request, previous)
    scan = replace(snapshot.scan, files=snapshot.scan.files[: options.max_files])
    completed = add_missing_files(scan, options.places, previous, time.time())
    scan = completed.scan
    require_few_changes(scan.files, previous, options.max_changes)
    load_with_table = _writes_table(previous, options, len(scan.files))
    with (
        DescriptorSpool(request.index_dir) as spool,
        _worker_pool(previous, load_with_table) as workers,
    ):
        reader = FileReader(previous, spool, options)
        states = reader.read_states(scan.files, workers, request.progress)
        is_rewritten = reader.parsed_count > 0 or states.keys() != previous.files.keys()
        # The next generation takes over parts of the last one, whose digests are checked meanwhile.
        check: Callable[[], None] = partial(_check_previous, request, previous)
        check = BackgroundTask(check).result if is_rewritten else check
        review = review_parsed_files(scan, states, reader, previous, options)
        states.update(review.files)
        resolved_states = resolve_ids(states, scan.files, previous.files)
        changes = detect_changes(scan, resolved_states, reader, previous.files, review)
        plan = BuildPlan(
            request=request,
            previous=previous,
            changes=changes,
            selected=selection.result(),
            scanned_at_ns=snapshot.at_ns,
            missing=completed.missing,
        )
        is_kept = is_unchanged(plan)
        written = keep_generation(plan) if is_kept else _write_generation(plan, workers, check)
    save_cache(request.index_dir, snapshot.memory)
    report = summarise_build(plan, written)
    if options.max_files is None or len(snapshot.scan.files) <= options.max_files:
        unfinished_paths = {finding.path for finding in reader.unfinished_findings}
        save_scan_stamps(request, snapshot, changes.files, report, unfinished_paths)
    return report


def _write_generation(
    plan: BuildPlan, workers: WorkerPool, check_previous: Callable[[], None]
) -> WrittenGeneration:
    # These bring all that makes documents and vectors: most runs find no change and do without.
    from capdisc_indexer.indexing import commit, document_changes, embeddings, passage_changes
    from capdisc_indexer.store.documents import remove_abandoned_folders

    remove_abandoned_folders()
    options = plan.request.options
    request, previous, encoder = plan.request, plan.previous, plan.selected.encoder
    # Files that are linked from it keep their digests: a changed byte must not be among them.
    check_previous()
    known_rows = embeddings.reusable_rows(previous, encoder)
    with (
        publication.staging_folder(request.index_dir) as folder,
        document_changes.EmbeddingBatcher(encoder, known_rows, request.index_dir) as batcher,
        passage_changes.PassageBuild(
            folder / "passages", previous, plan.changes, plan.passage_limits, request.index_dir
        ) as passages,
    ):
        build = document_changes.DocumentBuild(
            plan.changes, batcher, passages, workers, encoder, options.workspace
        )
        if build.needs_native_libraries(has_known_rows=bool(known_rows)):
            workers.wait_for_background()
            count = len(plan.changes.descriptors)
            commit.load_native_libraries(with_table=_writes_table(previous, options, count))
        deleted_count = document_changes.write_documents(
            folder / "text", previous, plan.changes, build.documents, request.progress
        )
        passage_counts = passages.finish()
        states = commit.complete_states(plan.changes, previous, build.declared_ids)
        vectors = commit.build_vectors(folder, previous, known_rows, states, batcher, encoder)
        builder_id = commit.choose_builder_id(plan)
        commit.write_metadata(
            folder / "meta", plan, states, vectors, builder_id, build.builder.counter
        )
        facts = commit.manifest_facts(
            plan,
            states,
            vectors,
            builder_id,
            build.builder.encoder_fingerprint,
            deleted_count,
            passage_counts,
        )
        number = publication.next_number(request.index_dir)
        published = publication.publish_folder(
            request.index_dir, folder, facts, number, previous.generation
        )
    return WrittenGeneration(generation=published, embedded_count=vectors.encoded_count)


def _check_previous(request: BuildRequest, previous: PreviousBuild) -> None:
    if previous.generation is not None:
        check_digests(request.index_dir, previous.generation)


def _scan_folders(request: BuildRequest, previous: PreviousBuild) -> ScanSnapshot:
    options = request.options
    return scan_with_cache(
        request.roots,
        options.sources,
        request.index_dir,
        forget=options.verify or previous.generation is None,
        confined=options.confined,
        links=options.links,
    )


def _writes_table(previous: PreviousBuild, options: BuildOptions, count: int) -> bool:
    """Whether a build of so many capabilities also writes the LanceDB table."""
    is_small = options.max_table_size is None or count <= options.max_table_size
    return options.with_table and previous.generation is None and is_small


def _worker_pool(previous: PreviousBuild, load_with_table: bool) -> WorkerPool:
    """A pool of workers; for a first build this process loads the engines while they read files."""
    if previous.generation is not None:
        return WorkerPool(None)
    return WorkerPool(partial(_load_native_libraries, load_with_table))


def _load_native_libraries(with_table: bool) -> None:
    from capdisc_indexer.indexing import commit  # late, as in `_write_generation`

    commit.load_native_libraries(with_table=with_table)


def _require_rebuild_allowed(previous: PreviousBuild, options: BuildOptions) -> None:
    """Raises IndexStateError where nothing of the last build can be reused, and the options do not
    allow building it anew.
    """
    if previous.reason and not options.may_rebuild:
        raise IndexStateError(previous.reason, native_errors.REBUILD_HINT)


@contextmanager
def _reduced_gc() -> Iterator[None]:
    """Runs the garbage collector seldom; see GC_THRESHOLDS."""
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
