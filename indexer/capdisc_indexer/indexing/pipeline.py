"""The index pipeline: look at the files, read what changed, publish the next generation."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.indexing.build_request import (
    BuildRequest,
    SelectedEncoder,
    select_encoder,
    summarise_build,
)
from capdisc_indexer.indexing.cached_scan import ScanSnapshot, save_cache, scan_with_cache
from capdisc_indexer.indexing.change_detection import Changes, Progress, detect_changes
from capdisc_indexer.indexing.descriptor_spool import DescriptorSpool
from capdisc_indexer.indexing.previous_build import (
    PreviousBuild,
    after_failed_reuse,
    check_digests,
    load_previous_build,
    published_records,
    record_scan,
)
from capdisc_indexer.indexing.worker_pool import GC_THRESHOLDS, BackgroundTask, WorkerPool
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, DamagedIndexError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport, Generation
from capdisc_indexer.store import durable_files, generation, locks, native_errors, publication
from capdisc_indexer.store.file_states import FileState

# Whether there is anything to publish.


def is_unchanged(
    request: BuildRequest, previous: PreviousBuild, changes: Changes, selected: SelectedEncoder
) -> bool:
    """Whether a build would give the very generation that is published."""
    if (
        previous.generation is None
        or previous.roots != request.root_names
        or previous.generation.fingerprint != selected.fingerprint
    ):
        return False
    files, before = changes.files, previous.files
    if (
        changes.descriptors
        or files.keys() != before.keys()
        or changes.guidance != previous.guidance
    ):
        return False
    return all(
        state is before[path] or _publish_key(state) == _publish_key(before[path])
        for path, state in files.items()
    )


def _publish_key(state: FileState) -> tuple[object, ...]:
    """What makes another generation of a file's state; its stamps do not."""
    return state.content_hash, state.root, state.findings


def _ignore_progress(stage: str, done: int, total: int) -> None:
    pass


def build_index(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    progress: Progress = _ignore_progress,
    snapshot: ScanSnapshot | None = None,
) -> BuildReport:
    """Bring the index up to date with the folders; whatever happens, the last published generation
    stays as it was. Whoever has `snapshot` them just now saves another look.

    Raises BusyError when another process keeps writing, InputError for a root that does not exist,
    IndexStateError when the disk refuses or the index may not be written by this user.
    """
    started = time.monotonic()
    request = BuildRequest(roots=roots, index_dir=index_dir, options=options, progress=progress)
    with durable_files.translate_disk_errors(index_dir), _reduced_gc():
        generation.check_folder(index_dir)
        with locks.write_lock(index_dir, options.lock_timeout_s):
            publication.sweep(index_dir)
            previous = _require_rebuild_allowed(
                load_previous_build(index_dir, options.rebuild, options.verify, options.builder_id),
                options,
            )
            try:
                report = _run_build(request, previous, snapshot)
            except (DamagedIndexError, *MALFORMED_DATA_ERRORS) as error:
                # The last generation opened but did not hold what it promised: nothing of it is
                # used.
                report = _run_build(
                    request,
                    _require_rebuild_allowed(
                        after_failed_reuse(index_dir, previous, error), options
                    ),
                    snapshot,
                )
            publication.collect(index_dir, report.generation.number)
    return replace(report, seconds=time.monotonic() - started)


def _run_build(
    request: BuildRequest, previous: PreviousBuild, snapshot: ScanSnapshot | None
) -> BuildReport:
    options, is_new = request.options, previous.generation is None
    selected = BackgroundTask(
        lambda: select_encoder(
            options.encoder or previous.encoder or encoders.SHIPPED_ENCODER,
            options.encoder_required,
        )
    )
    snapshot = snapshot or scan_with_cache(
        request.roots,
        options.sources,
        request.index_dir,
        forget=options.verify or is_new,
        confined=options.confined,
    )
    # Where all is to be made, the engines are loaded while the files are read.
    with (
        DescriptorSpool(request.index_dir) as spool,
        WorkerPool(_load_native_libraries if is_new else None) as workers,
    ):
        records = partial(published_records, previous)
        changes = detect_changes(
            snapshot.scan,
            previous.files,
            previous.scanned_at_ns,
            options,
            spool,
            workers,
            request.progress,
            records,
        )
        published, embedded_count = _publish_changes(
            request, previous, changes, selected.result(), snapshot.at_ns, workers
        )
    save_cache(request.index_dir, snapshot.memory)
    return summarise_build(request, previous, changes, selected.result(), published, embedded_count)


def _publish_changes(
    request: BuildRequest,
    previous: PreviousBuild,
    changes: Changes,
    selected: SelectedEncoder,
    now_ns: int,
    workers: WorkerPool,
) -> tuple[Generation, int]:
    """The generation that holds what there is now, and how many texts were encoded for it."""
    if previous.generation is not None:
        if is_unchanged(request, previous, changes, selected):
            record_scan(request.index_dir, previous, changes, now_ns)
            return previous.generation, 0
        # What is taken over gets new digests: a changed byte must not be among it.
        check_digests(request.index_dir, previous.generation)
    from capdisc_indexer.indexing.commit import (
        commit_build,  # with all that makes documents, which most runs have no use for
    )

    return commit_build(request, previous, changes, selected, now_ns, workers)


def _load_native_libraries() -> None:
    from capdisc_indexer.indexing.commit import (
        load_native_libraries,  # with all that makes documents, as in `_published`
    )

    load_native_libraries()


def _require_rebuild_allowed(previous: PreviousBuild, options: BuildOptions) -> PreviousBuild:
    """Raises IndexStateError where nothing of the last build can be used and that is not to be
    made good unasked.
    """
    if previous.reason and not options.may_rebuild:
        raise IndexStateError(previous.reason, native_errors.REBUILD_HINT)
    return previous


@contextmanager
def _reduced_gc() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
