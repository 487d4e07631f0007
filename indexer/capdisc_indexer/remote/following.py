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

from capdisc_indexer.errors import BusyError, IndexStateError
from capdisc_indexer.remote.values import MissingError, Shared, StoreError
from capdisc_indexer.store import generation

if TYPE_CHECKING:
    from capdisc_indexer.remote.bucket import Bucket, Head

_TRIES = 3
_WAIT_SECONDS = 60.0


def usable(shared: Shared) -> tuple[str, ...]:
    """As `refreshed`, and a copy that was damaged here is copied again."""
    notices = refreshed(shared)
    try:
        generation.current(shared.copy)
    except IndexStateError:
        return refreshed(shared, anew=True)
    return notices


def refreshed(shared: Shared, anew: bool = False) -> tuple[str, ...]:
    """Makes the copy the published generation, with one small request where it is that already; what people should
    know, if an older one has to answer.

    With `anew` it is copied again whatever is there. Raises StoreError when there is no copy and none can be had,
    IndexStateError when nothing is published.
    """
    if not anew and _is_fresh(shared):
        return ()
    try:
        _follow(shared, anew)
    except (StoreError, BusyError, IndexStateError) as error:
        if not generation.pointer(shared.copy) or anew:
            raise
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(_looked_at(shared)))
        return (f"{error.message}; answering from the copy of {when}",)
    return ()


def _follow(shared: Shared, anew: bool) -> None:
    from capdisc_indexer.remote.bucket import Bucket

    bucket, held = Bucket(shared), generation.pointer(shared.copy)
    seen = {} if anew else _seen(shared)
    for attempt in range(1, _TRIES + 1):
        head = _look(bucket, shared, seen.get("etag", "") if held and seen.get("text") == held else "")
        try:
            if head is not None and (head.text != held or anew):
                _copy(bucket, head, shared, anew)
        except MissingError as error:
            # Removed under our eyes, because newer ones came? Then look again.
            if attempt == _TRIES:
                how = "whoever builds it runs: capdisc index --rebuild"
                raise IndexStateError(f"the shared index is incomplete: {error.message}", how) from error
            seen = {}
            continue
        _remember(shared, head)
        return


def _look(bucket: Bucket, shared: Shared, etag: str) -> Head | None:
    try:
        return bucket.look(etag)
    except MissingError as error:
        how = f"whoever builds it runs: capdisc index PATH --index-dir {shared.url}"
        raise IndexStateError(f"there is no index at {shared.url} yet", how) from error


def _copy(bucket: Bucket, head: Head, shared: Shared, anew: bool) -> None:
    from capdisc_indexer.remote.fetching import fetch
    from capdisc_indexer.store import locks

    with locks.writer(shared.copy, _WAIT_SECONDS):
        if anew or generation.pointer(shared.copy) != head.text:  # another command may have been quicker
            fetch(bucket, head.text, shared.copy)


def _notes(shared: Shared) -> Path:
    return shared.top / "SEEN"


def _seen(shared: Shared) -> dict[str, Any]:
    """Tag and text of the pointer when it was last looked at."""
    try:
        value = json.loads(_notes(shared).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("etag"), str) else {}


def _remember(shared: Shared, head: Head | None) -> None:
    """The file's own time says when; a note that is lost costs a request."""
    with suppress(OSError):
        if head is None:
            os.utime(_notes(shared))
            return
        fresh = shared.top / f".SEEN-{os.getpid()}.new"
        fresh.write_text(json.dumps({"etag": head.etag, "text": head.text}))
        fresh.replace(_notes(shared))


def _looked_at(shared: Shared) -> float:
    try:
        return _notes(shared).stat().st_mtime
    except OSError:
        return 0.0


def _is_fresh(shared: Shared) -> bool:
    if not shared.fresh_for_s or not generation.pointer(shared.copy):
        return False
    return 0 <= time.time() - _looked_at(shared) < shared.fresh_for_s
