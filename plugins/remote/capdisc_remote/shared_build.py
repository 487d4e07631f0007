"""Builds a shared index: copies what is published into a folder here, builds upon it, and
publishes the result, all files first and the pointer last.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from capdisc_indexer.model.errors import BusyError, CapdiscError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport, Generation
from capdisc_indexer.store import durable_files, generation, locks, native_errors, publication
from capdisc_indexer.store.documents import Documents
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_remote import remote_generation, store_layout
from capdisc_remote.bucket import POINTER, Bucket
from capdisc_remote.remote_generation import download_generation, run_parallel
from capdisc_remote.store_layout import MissingObjectError, PointerVersion, StoreError

# Called with what is being done, how many parts of it are done, and of how many.
Progress = Callable[[str, int, int], None]
UNGUARDED_NOTICE = (
    "this store knows no conditional writes: let only one writer at a time publish there"
)
KEPT_GENERATIONS = 3
# A younger generation, by the store's own clock, may be that of another writer who is not done.
_GRACE_PERIOD = timedelta(hours=1)
_GENERATION_FOLDER = re.compile(r"generations/(\d{8})-[0-9a-f]{16}")


def build_shared_index(
    shared: SharedIndex,
    build: Callable[[Path], BuildReport],
    options: BuildOptions,
    progress: Progress,
) -> BuildReport:
    """The report of `build`, which brings a local index folder up to date; by then everybody can
    read the result.

    Whatever happens, what is published stays as it was until the new generation is complete in the
    store. Raises BusyError where another writer was quicker, here or elsewhere, StoreError where
    the store refuses.
    """
    with locks.write_lock(shared.top, options.lock_timeout_s):
        bucket = Bucket(shared)
        pointer = _read_pointer(bucket)
        notices = _prepare_work_folder(shared, bucket, pointer, options)
        report = build(shared.work)
        if (
            not report.published
            and pointer is not None
            and _published_pointer(shared) == pointer.text
        ):
            return replace(report, degraded=(*notices, *report.degraded))
        new_pointer = publish_generation(shared, bucket, pointer, report.generation, progress)
        _save_state(shared, new_pointer.text)
        notices += _clean_up(bucket, new_pointer, report.generation.number)
    return replace(report, published=True, degraded=(*notices, *report.degraded))


def _read_pointer(bucket: Bucket) -> PointerVersion | None:
    try:
        return bucket.read_pointer()
    except MissingObjectError:
        return None


def _prepare_work_folder(
    shared: SharedIndex, bucket: Bucket, pointer: PointerVersion | None, options: BuildOptions
) -> tuple[str, ...]:
    """Makes the work folder hold what is published. Gives a notice where it cannot, and the index
    is built anew.
    """
    if pointer is None or _published_pointer(shared) == pointer.text:
        return ()
    reason = "" if options.rebuild else _copy_published(shared, bucket, pointer)
    if reason and not options.may_rebuild:
        raise IndexStateError(reason, native_errors.REBUILD_HINT)
    if reason or options.rebuild:
        _reserve_number(shared.work, pointer.text)
    return (f"{reason}: building it anew",) if reason else ()


def _copy_published(shared: SharedIndex, bucket: Bucket, pointer: PointerVersion) -> str:
    """Copies what is published into the work folder. Gives the reason where it cannot be built
    upon, else "".
    """
    try:
        with locks.write_lock(shared.work, 0):
            download_generation(bucket, pointer.text, shared.work)
            _restore_vectors(shared, pointer.text)
    except IndexStateError as error:
        if isinstance(error, StoreError) and not isinstance(error, MissingObjectError):
            raise
        with suppress(FileNotFoundError):
            (shared.work / "CURRENT").unlink()
        return error.message
    _save_state(shared, pointer.text)
    return ""


def _restore_vectors(shared: SharedIndex, text: str) -> None:
    number, digest = store_layout.parse_pointer(text)
    folder = generation.generation_folder(shared.work, number)
    facts = (folder / store_layout.TABLE_FACTS).read_bytes()
    if facts != store_layout.NO_TABLE:
        remote_generation.restore_rows(
            remote_generation.read(shared, store_layout.generation_path(number, digest), facts),
            folder,
        )


def _reserve_number(index_dir: Path, text: str) -> None:
    """Makes the next build take a number after the published one, for which an empty folder
    stands.
    """
    with suppress(CapdiscError):
        number, _ = store_layout.parse_pointer(text)
        generation.generation_folder(index_dir, number).mkdir(
            parents=True, exist_ok=True, mode=0o700
        )


def _clean_up(bucket: Bucket, pointer: PointerVersion, number: int) -> tuple[str, ...]:
    """Does what may fail without harm once the pointer has moved, as the next writer does it
    again. Gives notices.
    """
    try:
        notices = (UNGUARDED_NOTICE,) if lacks_conditional_writes(bucket, pointer.text) else ()
        remove_old_generations(bucket, number)
    except StoreError as error:
        return (f"published, but old generations were not removed: {error.message}",)
    return notices


def _state_file(shared: SharedIndex) -> Path:
    return shared.top / "PUBLISHED"


def _published_pointer(shared: SharedIndex) -> str | None:
    """The text of the pointer in the store to which the published generation of the work folder
    corresponds; None where that is not known.
    """
    try:
        remote_pointer, local_pointer = _state_file(shared).read_text().splitlines(keepends=True)
    except (OSError, ValueError):
        return None
    return (
        remote_pointer
        if local_pointer and local_pointer == generation.read_pointer(shared.work)
        else None
    )


def _save_state(shared: SharedIndex, text: str) -> None:
    durable_files.replace_file(
        _state_file(shared), (text + generation.read_pointer(shared.work)).encode()
    )


# A generation that was built here goes into the store.


def publish_generation(
    shared: SharedIndex,
    bucket: Bucket,
    expected: PointerVersion | None,
    local: Generation,
    progress: Progress,
) -> PointerVersion:
    """Publishes the generation `local` of the work folder; gives the new pointer.

    Raises BusyError where another writer has published since `expected` was read, StoreError where
    the store refuses. What was written until then is removed, at the latest by a later writer.
    """
    from capdisc_indexer.store import table_documents

    folder = generation.generation_folder(shared.work, local.number)
    dim = local.counts["dim"]
    rows = remote_generation.load_local_rows(folder, dim) if dim else None
    facts = rows.facts() if rows else store_layout.NO_TABLE
    added_files = {
        store_layout.TABLE_FACTS: facts,
        store_layout.TERMS_FILE: table_documents.encode_frequencies(
            Documents(folder / "text").term_frequencies()
        ),
    }
    manifest = store_layout.manifest_to_publish((folder / "MANIFEST").read_bytes(), added_files)
    target = store_layout.generation_path(local.number, hashlib.sha256(manifest).hexdigest())
    try:
        _upload_files(bucket, folder, target, manifest, added_files, progress)
        if rows is not None:
            progress("Uploading", 1, 1)
            remote_generation.write(shared, target, shared.work)
        bucket.put(f"{target}/MANIFEST", manifest)
        line = publication.format_pointer(local.number, manifest)
        bucket.replace_pointer(line, expected)
    except BusyError:
        with suppress(StoreError):
            remove_folder(bucket, f"{target}/")
        raise
    return PointerVersion(text=line, etag="")


def lacks_conditional_writes(bucket: Bucket, text: str) -> bool:
    """Whether the store accepts a write whose condition does not hold, so that two writers could
    both publish.
    """
    number, digest = store_layout.parse_pointer(text)
    name = f"{store_layout.generation_path(number, digest)}/MANIFEST"
    return not bucket.honours_conditions(name, bucket.read(name, store_layout.MAX_MANIFEST_BYTES))


def _upload_files(
    bucket: Bucket,
    folder: Path,
    target: str,
    manifest: bytes,
    added_files: Mapping[str, bytes],
    progress: Progress,
) -> None:
    """Uploads every file that the manifest names but empty ones, which readers make themselves."""
    sizes = {name: entry["size"] for name, entry in json.loads(manifest)["files"].items()}
    names = sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])
    progress("Uploading", 0, len(names))
    run_parallel(
        lambda name: bucket.put(f"{target}/{name}", added_files.get(name, folder / name)),
        names,
    )


# Old generations leave the store once nobody can need them.


def remove_old_generations(bucket: Bucket, number: int) -> None:
    """Removes the generations that nobody needs: not of the newest three up to `number`, and not
    touched for an hour.

    A reader that is still copying one of them starts again with the newest. Raises StoreError.
    """
    pointer_times = [
        entry["last_modified"] for entry in bucket.list_folder("")[1] if entry["path"] == POINTER
    ]
    if not pointer_times:
        return
    folders = [
        name
        for name in bucket.list_folder(store_layout.GENERATIONS)[0]
        if _GENERATION_FOLDER.fullmatch(name)
    ]
    published = sorted(name for name in folders if _generation_number(name) <= number)
    retained = set(published[-KEPT_GENERATIONS:])
    for folder in folders:
        if folder not in retained:
            _remove_if_old(bucket, f"{folder}/", pointer_times[0] - _GRACE_PERIOD)


def _generation_number(folder: str) -> int:
    match = _GENERATION_FOLDER.fullmatch(folder)
    return int(match[1]) if match else 0


def _remove_if_old(bucket: Bucket, folder: str, cutoff: datetime) -> None:
    objects = bucket.list_tree(folder)
    if all(entry["last_modified"] < cutoff for entry in objects):
        bucket.remove([entry["path"] for entry in objects])


def remove_folder(bucket: Bucket, folder: str) -> None:
    """Removes every object below the folder ("…/")."""
    bucket.remove([entry["path"] for entry in bucket.list_tree(folder)])
