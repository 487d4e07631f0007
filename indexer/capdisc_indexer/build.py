"""The index pipeline: look at the files, read what changed, publish the next generation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from capdisc_indexer import encoders
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.errors import DamagedIndexError, EncoderError
from capdisc_indexer.ownership import collisions
from capdisc_indexer.previous import Previous, load_previous, remember_scan, salvaged
from capdisc_indexer.publishing import publish
from capdisc_indexer.reconcile import Changes, Progress, reconcile
from capdisc_indexer.report import counts
from capdisc_indexer.store import generation, locks
from capdisc_indexer.types import BuildOptions, BuildReport, Finding


def _silent(stage: str, done: int, total: int) -> None:
    pass


def build(roots: Sequence[Path], index_dir: Path, options: BuildOptions, progress: Progress = _silent) -> BuildReport:
    """Bring the index up to date with the folders; whatever happens, the last published generation stays as it was.

    Raises BusyError when another process keeps writing, InputError for a root that does not exist.
    """
    started = time.monotonic()
    generation.check_folder(index_dir)
    with locks.writer(index_dir, options.lock_timeout_s):
        last = load_previous(index_dir, options.rebuild, options.verify)
        try:
            report = _build(roots, index_dir, options, last, progress)
        except DamagedIndexError as error:
            # The last generation opened but did not hold what it promised: nothing of it is used.
            anew = salvaged(index_dir, f"{error.message}: building it anew")
            report = _build(roots, index_dir, options, anew, progress)
    return replace(report, seconds=time.monotonic() - started)


def _build(
    roots: Sequence[Path], index_dir: Path, options: BuildOptions, last: Previous, progress: Progress
) -> BuildReport:
    now_ns = time.time_ns()
    changes = reconcile(roots, last.files, last.scanned_at_ns, options.verify, progress)
    name = options.encoder or last.encoder or encoders.SHIPPED
    encoder, degraded = _encoder(name, options.encoder_required)
    names = tuple(map(str, roots))
    dropped = tuple(root for root in last.roots if root not in names)
    if last.generation is not None and last.roots == names and _unchanged(last, changes, encoder):
        fresh, embedded, published = last.generation, 0, False
        remember_scan(index_dir, last, changes, now_ns)
    else:
        last = replace(last, roots=names)
        fresh, embedded = publish(index_dir, last, changes, encoder, name, now_ns, progress)
        published = True
    return BuildReport(
        generation=fresh,
        published=published,
        counts=counts(last, changes) | {"embedded": embedded},
        findings=_findings(changes),
        degraded=(*last.notices, *degraded),
        roots=names,
        dropped_roots=dropped,
    )


def _encoder(name: str, required: bool) -> tuple[Encoder | None, tuple[str, ...]]:
    """The encoder, checked to the last byte; None with a notice when it cannot be used and is not required."""
    try:
        encoder = encoders.load(name)
        encoder.check()
    except EncoderError as error:
        if required:
            raise
        return None, (f"{error.message}; searching will go by words alone ({error.hint})",)
    return encoder, ()


def _unchanged(last: Previous, changes: Changes, encoder: Encoder | None) -> bool:
    """Whether a build would give the very generation that is published."""
    fingerprint = encoder.fingerprint if encoder else ""
    now = {path: (one.content_hash, one.root, one.findings) for path, one in changes.files.items()}
    known = {path: (one.content_hash, one.root, one.findings) for path, one in last.files.items()}
    same_encoder = last.generation is not None and last.generation.fingerprint == fingerprint
    return same_encoder and not changes.descriptors and now == known


def _findings(changes: Changes) -> tuple[Finding, ...]:
    of_files = [finding for one in changes.files.values() for finding in one.findings]
    return (*changes.findings, *of_files, *collisions(changes.files))
