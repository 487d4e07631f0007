"""The stages of a build: scan the folders, read what changed, write and publish the next generation.

A build scans the folders that differ from the last build, or all where the stamps do not suffice,
and hands the files to `_run_build`. It shows every stage up to the decision whether there is
anything to publish, `_write_generation` every stage after it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType

from capdisc_indexer import lazy_imports
from capdisc_indexer.indexing.build_plan import (
    BuildPlan,
    WrittenGeneration,
    is_unchanged,
    keep_generation,
    summarise_build,
)
from capdisc_indexer.indexing.build_request import (
    BuildRequest,
    SelectedEncoder,
    TreeComparison,
    select_encoder,
)
from capdisc_indexer.indexing.changes import (
    Review,
    ScannedTree,
    StatesByPath,
    collect_changes,
)
from capdisc_indexer.indexing.file_reader import (
    DescriptorSpool,
    FileReader,
    require_few_changes,
)
from capdisc_indexer.indexing.id_resolution import resolve_changed_ids, resolve_ids
from capdisc_indexer.indexing.missing_folders import add_missing_files
from capdisc_indexer.indexing.previous_build import (
    PreviousBuild,
    after_failed_reuse,
    check_changed_digests,
    check_digests,
    find_other_release,
    load_previous_build,
    load_published,
    load_seed,
)
from capdisc_indexer.indexing.scan_stamps import save_changed_stamps, save_scan_stamps
from capdisc_indexer.indexing.tree_scan import (
    ScanSnapshot,
    scan_changed_folders,
    scan_folders,
)
from capdisc_indexer.indexing.worker_pool import GC_THRESHOLDS, BackgroundTask, WorkerPool
from capdisc_indexer.model.errors import (
    MALFORMED_DATA_ERRORS,
    CoverageChangedError,
    DamagedIndexError,
    IndexStateError,
    OtherReleaseError,
    UnusableFilesError,
    WiderChangeError,
)
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport, Finding
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.scan.file_scan import ScanResult
from capdisc_indexer.sources.scan.folder_tree import is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import (
    folder_stamps,
    locks,
    native_errors,
    publication,
)


@contextmanager
def _reduce_gc() -> Iterator[None]:
    """Runs the garbage collector seldom; see GC_THRESHOLDS."""
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@_reduce_gc()
def build_changes(request: BuildRequest, comparison: TreeComparison | None) -> BuildReport:
    """The report of a build that looks at what changed. It reads the folders that differ by the
    comparison, or all where there is no comparison or the change reaches further.
    """
    reason = ""
    options = request.options
    if options.same_release and (release := find_other_release(request.index_dir)):
        raise OtherReleaseError(
            f"capdisc {release} has written this index, and this process is capdisc"
            f" {describe_release()}",
            "start it again, so that it is the release that is installed now",
        )
    previous = load_previous_build(
        request.index_dir,
        options.rebuild,
        options.verify,
        options.builder_id,
        options.passage_limits,
    )
    _require_rebuild_allowed(previous, options)
    _require_last_coverage(request, previous)
    try:
        if previous.generation is not None:
            try:
                return _build_part(request, previous, comparison)
            except WiderChangeError as error:
                reason = str(error)
            except UnusableFilesError:
                reason = "capdisc itself fails on a file"
        elif report := _build_from_seed(request, previous):
            return report
        report = _build_usable_files(request, previous)
    except (DamagedIndexError, *MALFORMED_DATA_ERRORS) as error:
        # The last generation opened, but it does not hold what its manifest promises: build again,
        # and reuse nothing of it.
        previous = after_failed_reuse(request.index_dir, previous, error)
        _require_rebuild_allowed(previous, options)
        report = _build_usable_files(request, previous)
    return replace(report, widened_by=reason)


def _require_last_coverage(request: BuildRequest, previous: PreviousBuild) -> None:
    """Raises CoverageChangedError where the index covers something that the caller did not know of
    and that this build would drop.
    """
    last = request.options.last_coverage
    if last and previous.coverage and previous.coverage not in (last, request.coverage):
        raise CoverageChangedError(
            "another process changed what this index covers", "run the command again"
        )


def _build_from_seed(request: BuildRequest, previous: PreviousBuild) -> BuildReport | None:
    """The report of a build that takes over what another index of this user has of the same files;
    None where no other index is of use. Until the build is published, nothing of that index is
    copied into this one.
    """
    options = request.options
    if not options.seeds or options.rebuild or options.verify:  # to be made of the files alone
        return None
    snapshot = scan_folders(request)
    paths = {file.path for file in snapshot.scan.files}
    for index_dir, builder_id in options.seeds:
        with suppress(IndexStateError, FileNotFoundError, *MALFORMED_DATA_ERRORS):
            seed = load_seed(previous, Path(index_dir), builder_id, options.passage_limits)
            if seed.state is None or seed.folder is None:
                continue
            with locks.shared_lease(seed.folder / "LEASE"):
                states = seed.state.load_all()
                if 2 * len(paths & states.keys()) >= max(len(states), len(paths)):
                    return _build_usable_files(request, seed, snapshot)
    return None


def _build_part(
    request: BuildRequest, previous: PreviousBuild, comparison: TreeComparison | None
) -> BuildReport:
    """The report of a build that reads the folders in which something changed. Raises
    WiderChangeError where others may be concerned; then nothing was published.
    """
    if comparison is None:
        raise WiderChangeError("the stamps of the last build do not tell what changed")
    try:
        last_tree = folder_stamps.read_tree(request.index_dir)
        changed = scan_changed_folders(comparison, last_tree)
    except (OSError, *MALFORMED_DATA_ERRORS) as error:
        raise WiderChangeError(f"{type(error).__name__}: {error}") from error
    tree = ScannedTree(
        scan=ScanResult(files=tuple(changed.files), findings=()),
        scanned_at_ns=comparison.compared_at_ns,
        is_part=True,
        gone=changed.gone,
    )
    check = partial(
        check_changed_digests, request.index_dir, comparison.published, comparison.record["stored"]
    )
    plan, written, _ = _run_build(request, previous, tree, check, lambda: comparison.selected)
    report = summarise_build(plan, written, comparison.record["errors"])
    save_changed_stamps(comparison, last_tree, changed, plan.changes.files, report)
    return report


def _build_usable_files(
    request: BuildRequest, previous: PreviousBuild, snapshot: ScanSnapshot | None = None
) -> BuildReport:
    """The report of a build of all folders. Where capdisc itself fails on some files, builds again
    without them.
    """
    unusable: dict[str, Finding] = {}
    while True:
        try:
            return _build_whole(request, previous, snapshot, unusable)
        except UnusableFilesError as error:
            if error.findings.keys() <= unusable.keys():  # not even of their last versions
                raise
            unusable |= error.findings


def _build_whole(
    request: BuildRequest,
    previous: PreviousBuild,
    snapshot: ScanSnapshot | None,
    unusable: Mapping[str, Finding],
) -> BuildReport:
    """The report of a build that looks at all folders."""
    options = request.options
    # The digest of the encoder is checked in a thread while files are read.
    selection = BackgroundTask(partial(select_encoder, options, previous.encoder))
    snapshot = snapshot or scan_folders(request)
    if previous.state is not None:
        previous.state.load_all()
    scan = replace(snapshot.scan, files=snapshot.scan.files[: options.max_files])
    scan, missing = add_missing_files(scan, options.places, previous, time.time())
    tree = ScannedTree(scan=scan, scanned_at_ns=snapshot.at_ns, missing=missing)
    check = partial(_check_previous, previous)
    plan, written, unfinished = _run_build(
        request, previous, tree, check, selection.result, unusable
    )
    report = replace(
        summarise_build(plan, written, None), outside_places=snapshot.scan.outside_places
    )
    if options.max_files is None or len(snapshot.scan.files) <= options.max_files:
        save_scan_stamps(request, snapshot, plan.changes.files, report, unfinished)
    return report


def _run_build(
    request: BuildRequest,
    previous: PreviousBuild,
    tree: ScannedTree,
    check: Callable[[], None],
    select: Callable[[], SelectedEncoder],
    unusable: Mapping[str, Finding] = MappingProxyType({}),
) -> tuple[BuildPlan, WrittenGeneration, frozenset[str]]:
    """What was planned and written for the files of the tree, and the paths of those whose last
    version was kept. `check` raises DamagedIndexError unless files of the last generation can be
    taken over. Nothing is made of `unusable` files.

    Raises UnusableFilesError where capdisc itself fails on others.
    """
    options, files = request.options, tree.scan.files
    gone = tree.gone if tree.is_part else None
    require_few_changes(files, gone, previous, options.max_changes)
    with (
        DescriptorSpool(request.index_dir) as spool,
        _worker_pool(previous) as workers,
    ):
        reader = FileReader(previous, spool, options, unusable)
        states = reader.read_states(files, workers, request.progress)
        unfinished = frozenset(finding.path for finding in reader.unfinished_findings)
        # Parts of the last generation go into the next one: their digests are checked meanwhile.
        is_other = tree.gone if tree.is_part else states.keys() != previous.files.keys()
        if reader.parsed_count > 0 or is_other:
            check = BackgroundTask(check).result
        if tree.is_part and (unfinished or len(reader.overlays) > len(options.overlays)):
            raise WiderChangeError("a file adds to others, or was changed and does not parse yet")
        if tree.is_part and previous.state is not None:
            removed = [previous.files[path] for path in tree.gone if path in previous.files]
            resolved_states = resolve_changed_ids(states, removed, previous.state)
            review = _review_definitions(tree, states, reader, previous, options)
        else:
            review = _review_definitions(tree, states, reader, previous, options)
            resolved_states = resolve_ids({**states, **review.files}, files, previous.files)
        if reader.overlays or any("\0" in state.read_as for state in states.values()):
            from capdisc_indexer.indexing.overlays import apply_overlays

            resolved_states = apply_overlays(tree, resolved_states, reader, options)
        changes = collect_changes(tree, resolved_states, reader, previous, review)
        plan = BuildPlan(
            request=request, previous=previous, tree=tree, changes=changes, selected=select()
        )
        is_kept = is_unchanged(plan)
        written = keep_generation(plan) if is_kept else _write_generation(plan, workers, check)
    return plan, written, unfinished


def _review_definitions(
    tree: ScannedTree,
    states: StatesByPath,
    reader: FileReader,
    previous: PreviousBuild,
    options: BuildOptions,
) -> Review:
    """The review of the definitions in the files that had to be parsed; empty without a guard.

    Raises BusyError when another process keeps the memory of definitions.
    """
    guard = options.guard
    guarded = [
        file
        for file in tree.scan.files
        if guard and reader.was_parsed(file.path) and _is_guarded(file, guard.own_places)
    ]
    if not guard or not guarded:
        return Review()
    # Brings SQLite and the rules on changes.
    from capdisc_indexer.indexing.changed_definitions import ParsedFiles, review_definitions

    parsed = ParsedFiles(
        files=guarded,
        records=reader.parsed_files,
        states=states,
        previous_states=previous.files,
        spool=reader.spool,
        is_part=tree.is_part,
    )
    return review_definitions(parsed, guard, partial(load_published, previous))


def _is_guarded(file: FoundFile, own_places: Iterable[str]) -> bool:
    """Whether changed definitions in the file are reviewed: it lists tools, or it is prose outside
    of the user's own places.
    """
    source = SOURCES[file.format]
    return source.lists_tools or (source.is_prose and not is_inside(file.resolved, own_places))


def _write_generation(
    plan: BuildPlan, workers: WorkerPool, check_previous: Callable[[], None]
) -> WrittenGeneration:
    # These bring all that makes documents and vectors: most runs find no change and do without.
    from capdisc_indexer.indexing import commit, document_changes, embeddings, passage_changes
    from capdisc_indexer.store.documents import remove_abandoned_folders

    remove_abandoned_folders()
    request, previous, encoder = plan.request, plan.previous, plan.selected.encoder
    options, changes = request.options, plan.changes
    # Files that are linked from it keep their digests: a changed byte must not be among them.
    check_previous()
    known_vectors = embeddings.load_known_vectors(plan)
    with (
        publication.staging_folder(request.index_dir) as folder,
        embeddings.EmbeddingBatcher(encoder, known_vectors, request.index_dir) as batcher,
        passage_changes.PassageBuild(
            folder / "passages",
            previous,
            changes.outdated_ids,
            plan.passage_limits,
            request.index_dir,
        ) as passages,
    ):
        build = document_changes.DocumentBuild(
            changes, batcher, passages, workers, encoder, options.workspace
        )
        if build.needs_numpy:
            # With too little memory for it, an error here; in the middle of the text engine's work
            # it would end the process.
            lazy_imports.numpy_if_installed()
        deleted_count = document_changes.write_documents(
            folder / "text", previous, changes, build.documents, request.progress
        )
        build.require_usable()
        passage_counts = passages.finish()
        states = commit.complete_states(changes, previous, build.declared_ids)
        builder_id = commit.choose_builder_id(plan)
        with commit.write_state(folder, plan, states) as state:
            vectors = commit.build_vectors(folder, plan, known_vectors, states, state, batcher)
            state.set_nearest(vectors.nearest)
            commit.write_metadata(
                folder / "meta", plan, states, state, builder_id, build.builder.counter
            )
            reranker, reranker_problem = None, ""
            if plan.reranker_name:
                from capdisc_indexer.indexing.reranker_vectors import write_reranker_vectors

                reranker, reranker_problem = write_reranker_vectors(
                    folder, plan, state.ids(), request.progress
                )
            facts = commit.manifest_facts(
                plan,
                state,
                vectors,
                builder_id,
                build.builder.encoder_fingerprint,
                deleted_count,
                passage_counts,
                reranker,
            )
        number = publication.next_number(request.index_dir)
        published = publication.publish_folder(
            request.index_dir, folder, facts, number, previous.generation, previous.folder
        )
    return WrittenGeneration(
        generation=published,
        embedded_count=vectors.encoded_count,
        reranker_problem=reranker_problem,
    )


def _check_previous(previous: PreviousBuild) -> None:
    if previous.generation is not None and previous.folder is not None:
        check_digests(previous.folder, previous.generation)


def _worker_pool(previous: PreviousBuild) -> WorkerPool:
    """A pool of workers; in a first build, they start by loading the tables that all documents
    need.
    """
    if previous.generation:
        return WorkerPool()
    from capdisc_indexer.indexing.document_changes import load_tables

    return WorkerPool(load_tables)


def _require_rebuild_allowed(previous: PreviousBuild, options: BuildOptions) -> None:
    """Raises IndexStateError where nothing of the last build can be reused and the options forbid
    a rebuild.
    """
    if previous.reason and not options.may_rebuild:
        raise IndexStateError(previous.reason, native_errors.REBUILD_HINT)
