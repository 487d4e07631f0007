"""The index pipeline: look at the files, read what changed, publish the next generation."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.aside import Aside
from capdisc_indexer.check.keyless import keyless
from capdisc_indexer.check.sourcetext import SourceText
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import DamagedIndexError, EncoderError, IndexStateError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.hands import SELDOM, Hands
from capdisc_indexer.ownership import collisions
from capdisc_indexer.previous import Previous, check_digests, load_previous, remember_scan, salvaged
from capdisc_indexer.reconcile import Changes, Progress, reconcile
from capdisc_indexer.remembered import Look, look, remember
from capdisc_indexer.report import counts, dropped_sources
from capdisc_indexer.sources.patterns import fixed_part
from capdisc_indexer.spool import Spool
from capdisc_indexer.state import FileState
from capdisc_indexer.store import collecting, disk, generation, integrity, locks
from capdisc_indexer.types import BuildOptions, BuildReport, Finding


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
    with disk.named(index_dir), _collecting_less():
        generation.check_folder(index_dir)
        with locks.writer(index_dir, options.lock_timeout_s):
            collecting.sweep(index_dir)
            last = _allowed(load_previous(index_dir, options.rebuild, options.verify), options)
            try:
                report = _build(roots, index_dir, options, last, seen, progress)
            except DamagedIndexError as error:
                # The last generation opened but did not hold what it promised: nothing of it is used.
                anew = _allowed(salvaged(index_dir, error.message), options)
                report = _build(roots, index_dir, options, anew, seen, progress)
            collecting.collect(index_dir, report.generation.number)
    return replace(report, seconds=time.monotonic() - started)


@contextmanager
def _collecting_less() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _allowed(last: Previous, options: BuildOptions) -> Previous:
    """Raises IndexStateError where nothing of the last build can be used and that is not to be made good unasked."""
    if last.reason and not options.may_rebuild:
        raise IndexStateError(last.reason, integrity.REBUILD)
    return last


def _build(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    last: Previous,
    seen: Look | None,
    progress: Progress,
) -> BuildReport:
    chosen = Aside(lambda: _chosen(options.encoder or last.encoder or encoders.SHIPPED, options.encoder_required))
    seen = seen or look(roots, options.sources, index_dir, forget=options.verify or last.generation is None)
    # Where all is to be made, the engines are loaded while the files are read.
    with Spool(index_dir) as spool, Hands(None if last.generation else _load_engines) as hands:
        changes = reconcile(seen.scan, last.files, last.scanned_at_ns, options, spool, hands, progress)
        report = _published(roots, index_dir, options, last, changes, chosen.result(), seen.at_ns, hands, progress)
    remember(index_dir, seen.memory)
    return report


def _load_engines() -> None:
    from capdisc_indexer.publishing import load_engines  # with all that makes documents, as in `_published`

    load_engines()


def _published(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    last: Previous,
    changes: Changes,
    chosen: _Chosen,
    now_ns: int,
    hands: Hands,
    progress: Progress,
) -> BuildReport:
    names = tuple(map(str, roots))
    dropped = tuple(root for root in last.roots if root not in names)
    if last.generation is not None and last.roots == names and _unchanged(last, changes, chosen.encoder):
        fresh, embedded, published = last.generation, 0, False
        remember_scan(index_dir, last, changes, now_ns)
    else:
        if last.generation is not None:
            # What is taken over gets new digests: a changed byte must not be among it.
            check_digests(index_dir, last.generation)
        from capdisc_indexer.publishing import publish  # with all that makes documents, which most runs have no use for

        anew = replace(last, roots=names)
        fresh, embedded = publish(index_dir, anew, changes, chosen.encoder, chosen.name, now_ns, hands, progress)
        published = True
    return BuildReport(
        generation=fresh,
        published=published,
        counts=counts(last, changes) | {"embedded": embedded},
        findings=_findings(changes, (*names, *(fixed_part(one.path)[0] for one in options.sources))),
        degraded=(*last.notices, *chosen.notices),
        roots=names,
        dropped_roots=dropped,
        dropped_sources=dropped_sources(last, changes, options.sources),
    )


@frozen(kw_only=True)
class _Chosen:
    """An encoder by its name; None with a notice where it cannot be used."""

    name: str
    encoder: Encoder | None = None
    notices: tuple[str, ...] = ()


def _chosen(name: str, required: bool) -> _Chosen:
    """The encoder, checked to the last byte. Raises EncoderError when it cannot be used and is required."""
    try:
        encoder = encoders.load(name)
        encoder.check()
    except EncoderError as error:
        if required:
            raise
        notice = f"{error.message}; searching will go by words alone ({error.hint})"
        return _Chosen(name=name, notices=(notice,))
    return _Chosen(name=name, encoder=encoder)


def _unchanged(last: Previous, changes: Changes, encoder: Encoder | None) -> bool:
    """Whether a build would give the very generation that is published."""
    fingerprint = encoder.fingerprint if encoder else ""
    if last.generation is None or last.generation.fingerprint != fingerprint or changes.descriptors:
        return False
    now, known = changes.files, last.files
    if now.keys() != known.keys() or changes.guidance != last.guidance:
        return False
    return all(one is known[path] or _telling(one) == _telling(known[path]) for path, one in now.items())


def _telling(one: FileState) -> tuple[object, ...]:
    """What makes another generation of a file's state; its stamps do not."""
    return one.content_hash, one.root, one.findings


def _findings(changes: Changes, places: Sequence[str]) -> tuple[Finding, ...]:
    of_files = [finding for one in changes.files.values() for finding in one.findings]
    return keyless((*changes.findings, *of_files, *collisions(changes.files)), SourceText(places))
