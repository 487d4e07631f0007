"""Build a shared index: upon what is published, in a folder here, and publish what came of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.errors import CapdiscError, IndexStateError
from capdisc_indexer.frozen import replace
from capdisc_indexer.remote import layout, publishing, table
from capdisc_indexer.remote.bucket import Bucket, Head
from capdisc_indexer.remote.fetching import fetch
from capdisc_indexer.remote.publishing import Progress
from capdisc_indexer.remote.retiring import retire
from capdisc_indexer.remote.values import MissingError, Shared, StoreError
from capdisc_indexer.store import durable, generation, integrity, locks
from capdisc_indexer.types import BuildOptions, BuildReport


def build_shared(
    shared: Shared, build: Callable[[Path], BuildReport], options: BuildOptions, progress: Progress
) -> BuildReport:
    """The report of `build`, which brings a local index folder up to date, once everybody can read what it made.

    Whatever happens, what is published stays as it was until the new generation is whole in the store. Raises BusyError
    when another writer was quicker, here or elsewhere, StoreError when the store refuses.
    """
    with locks.writer(shared.top, options.lock_timeout_s):
        bucket = Bucket(shared)
        last = _last(bucket)
        notices = _based(shared, bucket, last, options)
        report = build(shared.work)
        if not report.published and last is not None and _stands_for(shared) == last.text:
            return replace(report, degraded=(*notices, *report.degraded))
        head = publishing.published(shared, bucket, last, report.generation, progress)
        _remember(shared, head.text)
        notices += _afterwards(bucket, head, report.generation.number)
    return replace(report, published=True, degraded=(*notices, *report.degraded))


def _last(bucket: Bucket) -> Head | None:
    try:
        return bucket.look()
    except MissingError:
        return None


def _based(shared: Shared, bucket: Bucket, last: Head | None, options: BuildOptions) -> tuple[str, ...]:
    """See to it that the work folder holds what is published; if it cannot, why it is built anew."""
    if last is None or _stands_for(shared) == last.text:
        return ()
    reason = "" if options.rebuild else _took_over(shared, bucket, last)
    if reason and not options.may_rebuild:
        raise IndexStateError(reason, integrity.REBUILD)
    if reason or options.rebuild:
        _number_taken(shared.work, last.text)
    return (f"{reason}: building it anew",) if reason else ()


def _took_over(shared: Shared, bucket: Bucket, last: Head) -> str:
    """Copy what is published into the work folder; why it cannot be built upon, if it cannot."""
    try:
        with locks.writer(shared.work, 0):
            fetch(bucket, last.text, shared.work)
            _restore_vectors(shared, last.text)
    except IndexStateError as error:
        if isinstance(error, StoreError) and not isinstance(error, MissingError):
            raise
        with suppress(FileNotFoundError):
            (shared.work / "CURRENT").unlink()
        return error.message
    _remember(shared, last.text)
    return ""


def _restore_vectors(shared: Shared, text: str) -> None:
    number, digest = layout.pointed(text)
    folder = generation.folder(shared.work, number)
    facts = (folder / layout.TABLE_FACTS).read_bytes()
    if facts != layout.NO_TABLE:
        table.restore(table.read(shared, layout.folder_name(number, digest), facts), folder)


def _number_taken(index_dir: Path, text: str) -> None:
    """Let the next build take a number after the published one: an empty folder stands for it."""
    with suppress(CapdiscError):
        number, _ = layout.pointed(text)
        generation.folder(index_dir, number).mkdir(parents=True, exist_ok=True, mode=0o700)


def _afterwards(bucket: Bucket, head: Head, number: int) -> tuple[str, ...]:
    """What may fail without harm once the pointer is moved; the next writer does it then."""
    try:
        notices = (publishing.UNGUARDED,) if publishing.unguarded(bucket, head.text) else ()
        retire(bucket, number)
    except StoreError as error:
        return (f"published, but old generations were not removed: {error.message}",)
    return notices


def _note(shared: Shared) -> Path:
    return shared.top / "PUBLISHED"


def _stands_for(shared: Shared) -> str | None:
    """The pointer's text in the store that the work folder's own published generation stands for."""
    try:
        theirs, ours = _note(shared).read_text().splitlines(keepends=True)
    except (OSError, ValueError):
        return None
    return theirs if ours and ours == generation.pointer(shared.work) else None


def _remember(shared: Shared, text: str) -> None:
    durable.replace(_note(shared), (text + generation.pointer(shared.work)).encode())
