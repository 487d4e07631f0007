"""Keep the copy of a shared index the one that is published.

What only a look or a copy needs is imported there: a command whose copy is fresh pays for neither.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.remote.remote_types import MissingObjectError, SharedIndex, StoreError
from capdisc_indexer.store import generation

if TYPE_CHECKING:
    from capdisc_indexer.remote.bucket import Bucket, PointerVersion

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
    from capdisc_indexer.remote.generation_download import download_generation
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
