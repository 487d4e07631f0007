"""Keeps the copy of a shared index the generation that is published.

A command whose copy is fresh imports nothing of this package beside its `__init__`: what looks
at the store, or copies from it, is imported where it is used.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.store import durable_files, generation
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_remote.store_layout import MissingObjectError, PointerVersion, StoreError

if TYPE_CHECKING:
    from capdisc_remote.bucket import Bucket

_MAX_TRIES = 3
_WAIT_SECONDS = 60.0


def ensure_usable_copy(shared: SharedIndex) -> tuple[str, ...]:
    """As `refresh_copy`; a copy that was damaged here is copied again."""
    notices = refresh_copy(shared)
    try:
        generation.load_current(shared.copy)
    except IndexStateError:
        return refresh_copy(shared, force=True)
    return notices


def refresh_copy(shared: SharedIndex, force: bool = False) -> tuple[str, ...]:
    """Makes the copy the published generation, with one small request where it is that already.
    Gives notices for the user, where an older copy has to answer.

    With `force` it is copied again whatever is there. Raises StoreError where there is no copy and
    none can be had, IndexStateError where nothing is published.
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
    from capdisc_remote.bucket import Bucket

    bucket, local_pointer = Bucket(shared), generation.read_pointer(shared.copy)
    last_seen = None if force else _load_last_seen(shared)
    for attempt in range(1, _MAX_TRIES + 1):
        is_copied = last_seen is not None and local_pointer and last_seen.text == local_pointer
        pointer = _read_pointer(bucket, shared, last_seen.etag if last_seen and is_copied else "")
        try:
            if pointer is not None and (pointer.text != local_pointer or force):
                _download_copy(bucket, pointer, shared, force)
        except MissingObjectError as error:
            # A writer may have removed it, because it has published newer ones: look again.
            if attempt == _MAX_TRIES:
                hint = "whoever builds it runs: capdisc index --rebuild"
                raise IndexStateError(
                    f"the shared index is incomplete: {error.message}", hint
                ) from error
            last_seen = None
            continue
        _save_last_seen(shared, pointer)
        return


def _read_pointer(bucket: Bucket, shared: SharedIndex, known_etag: str) -> PointerVersion | None:
    try:
        return bucket.read_pointer(known_etag)
    except MissingObjectError as error:
        hint = f"whoever builds it runs: capdisc index PATH --index-dir {shared.url}"
        raise IndexStateError(f"there is no index at {shared.url} yet", hint) from error


def _download_copy(
    bucket: Bucket, pointer: PointerVersion, shared: SharedIndex, force: bool
) -> None:
    from capdisc_indexer.store import locks
    from capdisc_remote.remote_generation import download_generation

    with locks.write_lock(shared.copy, _WAIT_SECONDS):
        # Another command may have been quicker.
        if force or generation.read_pointer(shared.copy) != pointer.text:
            download_generation(bucket, pointer.text, shared.copy)


def _last_seen_path(shared: SharedIndex) -> Path:
    return shared.top / "SEEN"


def _load_last_seen(shared: SharedIndex) -> PointerVersion | None:
    """The pointer as it was when somebody last looked; None where no such record can be read."""
    try:
        record = json.loads(_last_seen_path(shared).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("etag"), str):
        return None
    return PointerVersion(text=str(record.get("text")), etag=record["etag"])


def _save_last_seen(shared: SharedIndex, pointer: PointerVersion | None) -> None:
    """Records the pointer, or with None that it has not changed. The time of the file says when; a
    record that is lost costs a request.
    """
    path = _last_seen_path(shared)
    with suppress(OSError):
        if pointer is None:
            os.utime(path)
            return
        record = json.dumps({"etag": pointer.etag, "text": pointer.text})
        durable_files.replace_file(path, record.encode())


def _last_check_time(shared: SharedIndex) -> float:
    try:
        return _last_seen_path(shared).stat().st_mtime
    except OSError:
        return 0.0


def _is_fresh(shared: SharedIndex) -> bool:
    if not shared.fresh_for_s or not generation.read_pointer(shared.copy):
        return False
    return 0 <= time.time() - _last_check_time(shared) < shared.fresh_for_s
