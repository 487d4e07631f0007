"""Keep the copy of a shared index the one that is published.

What only a look or a copy needs is imported there: a command whose copy is fresh pays for neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer.model.errors import BusyError, DamagedIndexError, IndexStateError
from capdisc_indexer.remote import remote_types
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.remote.remote_types import MissingObjectError, SharedIndex, StoreError
from capdisc_indexer.store import durable_files, generation, locks, publication

if TYPE_CHECKING:
    from capdisc_indexer.remote.bucket import Bucket, PointerVersion

# Copy a published generation out of the store: checked piece by piece, and complete or not there
# at all.

_MAX_TRANSFERS = 8


def download_generation(bucket: Bucket, text: str, index_dir: Path) -> None:
    """Make the generation that the pointer's `text` names the published one of the folder, whose
    write lock the caller holds. Raises MissingError when it was removed meanwhile, IndexStateError
    when it is not what it should be.
    """
    number, digest = remote_types.parse_pointer(text)
    source = remote_types.generation_path(number, digest)
    manifest = bucket.read(f"{source}/MANIFEST", remote_types.MAX_MANIFEST_BYTES)
    files = remote_types.manifest_files(manifest, digest)
    with durable_files.translate_disk_errors(index_dir):
        publication.sweep(index_dir)
        _remove_conflicting(index_dir, number)
        with publication.staging_folder(index_dir) as temporary:
            _check_disk_space(temporary, files)
            _download_files(bucket, source, files, temporary)
            publication.adopt_folder(index_dir, temporary, manifest, number)
        publication.collect(index_dir, number)


def _remove_conflicting(index_dir: Path, number: int) -> None:
    """Remove what has the number already: the copy of an index that was begun anew in the store,
    or a damaged one.
    """
    old = generation.generation_folder(index_dir, number)
    with locks.try_exclusive(old / "LEASE") as free:
        if not free:
            raise IndexStateError(
                f"generation {number} of the shared index is another one now", "try again"
            )
        shutil.rmtree(old, ignore_errors=True)


def _check_disk_space(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    needed, free = sum(size for size, _ in files.values()), shutil.disk_usage(folder).free
    if needed > free:
        message = f"the shared index has {needed / 1e6:,.0f} MB, and {folder} has room for {free / 1e6:,.0f}"
        raise IndexStateError(
            message, "free some space there, or name another cache folder with XDG_CACHE_HOME"
        )


def _download_files(
    bucket: Bucket, source: str, files: Mapping[str, tuple[int, str]], target: Path
) -> None:
    for parent in {(target / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    largest_first = sorted(files, key=lambda name: -files[name][0])
    run_parallel(
        lambda name: _download_file(bucket, f"{source}/{name}", target / name, *files[name]),
        largest_first,
    )


def _download_file(bucket: Bucket, name: str, target: Path, size: int, sha256: str) -> None:
    """An empty file is made here: the store need not have it."""
    hasher = hashlib.sha256()
    with target.open("xb") as out:
        for piece in bucket.read_chunks(name, size):
            hasher.update(piece)
            out.write(piece)
        written = out.tell()
    if written != size or hasher.hexdigest() != sha256:
        message = f"the shared index is damaged: {name} does not match its digest"
        raise DamagedIndexError(message, remote_types.REBUILD_HINT)


def run_parallel(work: Callable[[str], None], names: list[str]) -> None:
    """Do the work for every name, some at a time; the first error ends it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MAX_TRANSFERS) as pool:
        waiting = [pool.submit(work, name) for name in names]
        try:
            for future in waiting:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


_MAX_TRIES = 3
_WAIT_SECONDS = 60.0


def ensure_usable_copy(shared: SharedIndex) -> tuple[str, ...]:
    """As `refresh_copy`, and a copy that was damaged here is copied again."""
    notices = refresh_copy(shared)
    try:
        generation.load_current(shared.copy)
    except IndexStateError:
        return refresh_copy(shared, force=True)
    return notices


def refresh_copy(shared: SharedIndex, force: bool = False) -> tuple[str, ...]:
    """Makes the copy the published generation, with one small request where it is that already;
    what people should know, if an older one has to answer.

    With `force` it is copied again whatever is there. Raises StoreError when there is no copy and
    none can be had, IndexStateError when nothing is published.
    """
    if not force and _is_fresh(shared):
        return ()
    try:
        _update_copy(shared, force)
    except (StoreError, BusyError, IndexStateError) as error:
        if not generation.read_pointer(shared.copy) or force:
            raise
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(_last_check_time(shared)))
        return (f"{error.message}; answering from the copy of {when}",)
    return ()


def _update_copy(shared: SharedIndex, force: bool) -> None:
    from capdisc_indexer.remote.bucket import Bucket

    bucket, local_pointer = Bucket(shared), generation.read_pointer(shared.copy)
    state = {} if force else _load_state(shared)
    for attempt in range(1, _MAX_TRIES + 1):
        pointer = _read_pointer(
            bucket,
            shared,
            state.get("etag", "") if local_pointer and state.get("text") == local_pointer else "",
        )
        try:
            if pointer is not None and (pointer.text != local_pointer or force):
                _download_copy(bucket, pointer, shared, force)
        except MissingObjectError as error:
            # Removed under our eyes, because newer ones came? Then look again.
            if attempt == _MAX_TRIES:
                hint = "whoever builds it runs: capdisc index --rebuild"
                raise IndexStateError(
                    f"the shared index is incomplete: {error.message}", hint
                ) from error
            state = {}
            continue
        _save_state(shared, pointer)
        return


def _read_pointer(bucket: Bucket, shared: SharedIndex, etag: str) -> PointerVersion | None:
    try:
        return bucket.read_pointer(etag)
    except MissingObjectError as error:
        hint = f"whoever builds it runs: capdisc index PATH --index-dir {shared.url}"
        raise IndexStateError(f"there is no index at {shared.url} yet", hint) from error


def _download_copy(
    bucket: Bucket, pointer: PointerVersion, shared: SharedIndex, force: bool
) -> None:
    from capdisc_indexer.store import locks

    with locks.write_lock(shared.copy, _WAIT_SECONDS):
        if (
            force or generation.read_pointer(shared.copy) != pointer.text
        ):  # another command may have been quicker
            download_generation(bucket, pointer.text, shared.copy)


def _state_file(shared: SharedIndex) -> Path:
    return shared.top / "SEEN"


def _load_state(shared: SharedIndex) -> dict[str, Any]:
    """Tag and text of the pointer when it was last looked at."""
    try:
        value = json.loads(_state_file(shared).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("etag"), str) else {}


def _save_state(shared: SharedIndex, pointer: PointerVersion | None) -> None:
    """The file's own time says when; a note that is lost costs a request."""
    with suppress(OSError):
        if pointer is None:
            os.utime(_state_file(shared))
            return
        temporary = shared.top / f".SEEN-{os.getpid()}.new"
        temporary.write_text(json.dumps({"etag": pointer.etag, "text": pointer.text}))
        temporary.replace(_state_file(shared))


def _last_check_time(shared: SharedIndex) -> float:
    try:
        return _state_file(shared).stat().st_mtime
    except OSError:
        return 0.0


def _is_fresh(shared: SharedIndex) -> bool:
    if not shared.fresh_for_s or not generation.read_pointer(shared.copy):
        return False
    return 0 <= time.time() - _last_check_time(shared) < shared.fresh_for_s
