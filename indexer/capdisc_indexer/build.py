"""The index pipeline: look at the files, read what changed, publish the next generation."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.aside import Aside
from capdisc_indexer.choice import Chosen, choose
from capdisc_indexer.errors import BROKEN, DamagedIndexError, IndexStateError
from capdisc_indexer.frozen import replace
from capdisc_indexer.hands import SELDOM, Hands
from capdisc_indexer.previous import (
    Previous,
    check_digests,
    given_up,
    load_previous,
    published_records,
    remember_scan,
)
from capdisc_indexer.reconcile import Changes, Progress, reconcile
from capdisc_indexer.remembered import Look, look, remember
from capdisc_indexer.report import report
from capdisc_indexer.spool import Spool
from capdisc_indexer.store import collecting, disk, generation, integrity, locks
from capdisc_indexer.task import Task
from capdisc_indexer.types import BuildOptions, BuildReport, Generation
from capdisc_indexer.unchanged import is_unchanged


def _silent(stage: str, done: int, total: int) -> None:
    pass


def build(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    progress: Progress = _silent,
    seen: Look | None = None,
) -> BuildReport:
    """Bring the index up to date with the folders; whatever happens, the last published generation stays as it was.
    Whoever has `seen` them just now saves another look.

    Raises BusyError when another process keeps writing, InputError for a root that does not exist, IndexStateError
    when the disk refuses or the index may not be written by this user.
    """
    started = time.monotonic()
    task = Task(roots=roots, index_dir=index_dir, options=options, progress=progress)
    with disk.named(index_dir), _collecting_less():
        generation.check_folder(index_dir)
        with locks.writer(index_dir, options.lock_timeout_s):
            collecting.sweep(index_dir)
            last = _allowed(load_previous(index_dir, options.rebuild, options.verify, options.builder_id), options)
            try:
                done = _build(task, last, seen)
            except (DamagedIndexError, *BROKEN) as error:
                # The last generation opened but did not hold what it promised: nothing of it is used.
                done = _build(task, _allowed(given_up(index_dir, last, error), options), seen)
            collecting.collect(index_dir, done.generation.number)
    return replace(done, seconds=time.monotonic() - started)


def _build(task: Task, last: Previous, seen: Look | None) -> BuildReport:
    options, anew = task.options, last.generation is None
    chosen = Aside(lambda: choose(options.encoder or last.encoder or encoders.SHIPPED, options.encoder_required))
    seen = seen or look(
        task.roots, options.sources, task.index_dir, forget=options.verify or anew, confined=options.confined
    )
    # Where all is to be made, the engines are loaded while the files are read.
    with Spool(task.index_dir) as spool, Hands(_load_engines if anew else None) as hands:
        records = partial(published_records, last)
        changes = reconcile(seen.scan, last.files, last.scanned_at_ns, options, spool, hands, task.progress, records)
        published, embedded = _published(task, last, changes, chosen.result(), seen.at_ns, hands)
    remember(task.index_dir, seen.memory)
    return report(task, last, changes, chosen.result(), published, embedded)


def _published(
    task: Task, last: Previous, changes: Changes, chosen: Chosen, now_ns: int, hands: Hands
) -> tuple[Generation, int]:
    """The generation that holds what there is now, and how many texts were encoded for it."""
    if last.generation is not None:
        if is_unchanged(task, last, changes, chosen):
            remember_scan(task.index_dir, last, changes, now_ns)
            return last.generation, 0
        # What is taken over gets new digests: a changed byte must not be among it.
        check_digests(task.index_dir, last.generation)
    from capdisc_indexer.publishing import publish  # with all that makes documents, which most runs have no use for

    return publish(task, last, changes, chosen, now_ns, hands)


def _load_engines() -> None:
    from capdisc_indexer.publishing import load_engines  # with all that makes documents, as in `_published`

    load_engines()


def _allowed(last: Previous, options: BuildOptions) -> Previous:
    """Raises IndexStateError where nothing of the last build can be used and that is not to be made good unasked."""
    if last.reason and not options.may_rebuild:
        raise IndexStateError(last.reason, integrity.REBUILD)
    return last


@contextmanager
def _collecting_less() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
