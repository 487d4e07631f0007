"""Build a shared index: upon what is published, in a folder here, and publish what came of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from capdisc_indexer.model.errors import BusyError, CapdiscError, IndexStateError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport, Generation
from capdisc_indexer.remote import remote_types, remote_vectors
from capdisc_indexer.remote.bucket import POINTER, Bucket, PointerVersion
from capdisc_indexer.remote.copy_refresh import download_generation, run_parallel
from capdisc_indexer.remote.remote_types import MissingObjectError, SharedIndex, StoreError
from capdisc_indexer.store import durable_files, generation, locks, native_errors, publication

# Old generations in the store, removed once nobody can need them.

KEPT_GENERATIONS = 3
# What is younger than this, by the store's own clock, may be another writer's that is not done.
_GRACE_PERIOD = timedelta(hours=1)
_GENERATION_FOLDER = re.compile(r"generations/(\d{8})-[0-9a-f]{16}")


def remove_old_generations(bucket: Bucket, number: int) -> None:
    """Remove the generations that nobody needs: not of the newest three up to `number`, and not
    touched for an hour.

    A reader that is still copying one of them starts again with the newest. Raises StoreError.
    """
    store_time = next(
        (entry["last_modified"] for entry in bucket.list_folder("")[1] if entry["path"] == POINTER),
        None,
    )
    folders = [
        name
        for name in bucket.list_folder(remote_types.GENERATIONS)[0]
        if _GENERATION_FOLDER.fullmatch(name)
    ]
    retained = set(
        sorted(name for name in folders if _generation_number(name) <= number)[-KEPT_GENERATIONS:]
    )
    for folder in folders:
        if folder not in retained and store_time is not None:
            _remove_if_old(bucket, f"{folder}/", store_time - _GRACE_PERIOD)


def _generation_number(folder: str) -> int:
    match = _GENERATION_FOLDER.fullmatch(folder)
    return int(match[1]) if match else 0


def _remove_if_old(bucket: Bucket, folder: str, cutoff: object) -> None:
    objects = bucket.list_tree(folder)
    if all(entry["last_modified"] < cutoff for entry in objects):
        bucket.remove([entry["path"] for entry in objects])


def remove_folder(bucket: Bucket, folder: str) -> None:
    """Remove every object below the folder ("…/")."""
    bucket.remove([entry["path"] for entry in bucket.list_tree(folder)])


# Put a generation that was built here into the store, for everybody: all of it first, the pointer
# last.

Progress = Callable[[str, int, int], None]
UNGUARDED_NOTICE = (
    "this store knows no conditional writes: let only one writer at a time publish there"
)


def publish_generation(
    shared: SharedIndex,
    bucket: Bucket,
    expected: PointerVersion | None,
    local: Generation,
    progress: Progress,
) -> PointerVersion:
    """What the pointer says once it points to the generation `local` of the work folder.

    Raises BusyError when another writer has published since `expected` was read, StoreError when
    the store refuses; what was written until then is taken away again, or by a later writer.
    """
    folder = generation.generation_folder(shared.work, local.number)
    rows = remote_vectors.load_local_rows(folder) if local.counts["dim"] else None
    facts = rows.facts() if rows else remote_types.NO_TABLE
    manifest = remote_types.manifest_to_publish((folder / "MANIFEST").read_bytes(), facts)
    target = remote_types.generation_path(local.number, hashlib.sha256(manifest).hexdigest())
    try:
        _upload_files(bucket, folder, target, manifest, facts, progress)
        if rows is not None:
            progress("Uploading", 1, 1)
            remote_vectors.write(shared, target, rows)
        bucket.put(f"{target}/MANIFEST", manifest)
        line = publication.format_pointer(local.number, manifest)
        bucket.replace_pointer(line, expected)
    except BusyError:
        with suppress(StoreError):
            remove_folder(bucket, f"{target}/")
        raise
    return PointerVersion(text=line, etag="")


def lacks_conditional_writes(bucket: Bucket, text: str) -> bool:
    """Whether the store would let two writers both win: a write whose condition does not hold goes
    through there.
    """
    number, digest = remote_types.parse_pointer(text)
    name = f"{remote_types.generation_path(number, digest)}/MANIFEST"
    return not bucket.honours_conditions(name, bucket.read(name, remote_types.MAX_MANIFEST_BYTES))


def _upload_files(
    bucket: Bucket, folder: Path, target: str, manifest: bytes, facts: bytes, progress: Progress
) -> None:
    """Every file that the manifest names; empty ones are made by who reads."""
    sizes = {name: entry["size"] for name, entry in json.loads(manifest)["files"].items()}
    names = sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])
    progress("Uploading", 0, len(names))
    run_parallel(
        lambda name: bucket.put(
            f"{target}/{name}", facts if name == remote_types.TABLE_FACTS else folder / name
        ),
        names,
    )


def build_shared_index(
    shared: SharedIndex,
    build: Callable[[Path], BuildReport],
    options: BuildOptions,
    progress: Progress,
) -> BuildReport:
    """The report of `build`, which brings a local index folder up to date, once everybody can read
    what it made.

    Whatever happens, what is published stays as it was until the new generation is whole in the
    store. Raises BusyError when another writer was quicker, here or elsewhere, StoreError when the
    store refuses.
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
    """See to it that the work folder holds what is published; if it cannot, why it is built
    anew.
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
    """Copy what is published into the work folder; why it cannot be built upon, if it cannot."""
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
    number, digest = remote_types.parse_pointer(text)
    folder = generation.generation_folder(shared.work, number)
    facts = (folder / remote_types.TABLE_FACTS).read_bytes()
    if facts != remote_types.NO_TABLE:
        remote_vectors.restore_rows(
            remote_vectors.read(shared, remote_types.generation_path(number, digest), facts),
            folder,
        )


def _reserve_number(index_dir: Path, text: str) -> None:
    """Let the next build take a number after the published one: an empty folder stands for it."""
    with suppress(CapdiscError):
        number, _ = remote_types.parse_pointer(text)
        generation.generation_folder(index_dir, number).mkdir(
            parents=True, exist_ok=True, mode=0o700
        )


def _clean_up(bucket: Bucket, pointer: PointerVersion, number: int) -> tuple[str, ...]:
    """What may fail without harm once the pointer is moved; the next writer does it then."""
    try:
        notices = (UNGUARDED_NOTICE,) if lacks_conditional_writes(bucket, pointer.text) else ()
        remove_old_generations(bucket, number)
    except StoreError as error:
        return (f"published, but old generations were not removed: {error.message}",)
    return notices


def _state_file(shared: SharedIndex) -> Path:
    return shared.top / "PUBLISHED"


def _published_pointer(shared: SharedIndex) -> str | None:
    """The pointer's text in the store that the work folder's own published generation stands
    for.
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
