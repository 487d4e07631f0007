"""Builds an index in the background, where it is missing or may be out of date.

A prompt does not wait for a build of seconds: a later one finds the index. The build is a process
of its own, which outlives the hook; it holds a lock as long as it runs, and none is started for a
while after it, so that twenty prompts start one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from capdisc.context.background_process import start_process
from capdisc.context.freshness import IndexPlace, locate_index
from capdisc.context.surroundings import Runtime
from capdisc_indexer.model.errors import CapdiscError, IndexStateError, InputError
from capdisc_indexer.platforms import system
from capdisc_indexer.store.durable_files import make_private_folder
from capdisc_indexer.store.generation import read_pointer

PAUSE_S = 600
# Where files are known to have changed: two prompts in a row start one build.
_UPDATE_PAUSE_S = 5


def start_build(runtime: Runtime, index_dir: Path | None, client: str) -> str:
    """Start to build the index that `index_dir` names, unless a build runs or was tried within
    PAUSE_S. Returns a sentence for a person: what happens, or why nothing does.

    Raises IndexStateError where nothing says what the last index covered, and CapdiscError where
    the user's state cannot be written.
    """
    from capdisc.context.coverage import complete_coverage, list_roots, require_something
    from capdisc_indexer.indexing.previous_build import recover_settings

    config = runtime.config()
    if shared := runtime.shared_index(index_dir, config):
        return f"{shared.url} is built by those who write it"
    place = locate_index(runtime, config, index_dir)
    runtime, config, where = place.runtime, place.config, place.index_dir
    previous = recover_settings(where, runtime.builder_id(where))
    if read_pointer(where) and not previous.is_known:
        raise IndexStateError(
            "the index cannot be used, and nothing says what it covered",
            "build it again: capdisc index, with the paths that were added to it",
        )
    coverage = complete_coverage(runtime, config, previous)
    try:
        roots = list_roots(runtime, config, coverage)
        require_something(runtime, config, previous, coverage, roots)
    except InputError as error:
        return error.message
    is_usual = coverage.is_conventional
    waited_s = _start_if_due(place, index_dir, client, PAUSE_S, lambda: is_usual)
    if waited_s is None:
        return "the index is being built"
    if waited_s:
        return f"a build was tried {waited_s:.0f} s ago; capdisc index says what is wrong"
    return "the index is being built from now on"


def start_update(place: IndexPlace, client: str) -> bool:
    """Start to bring the index up to date after a known change, from the folders of the last
    build, unless a build runs or was started within _UPDATE_PAUSE_S. Returns False where it cannot
    be started; the index answers all the same.
    """
    from capdisc.context.coverage import covers_usual_folders

    with suppress(CapdiscError, OSError):
        where = place.index_dir
        _start_if_due(place, where, client, _UPDATE_PAUSE_S, lambda: covers_usual_folders(where))
        return True
    return False


def start_first_build(place: IndexPlace) -> None:
    """Start to build the index of a place that has a part of one, unless a build runs. Raises
    CapdiscError where the user's state cannot be written.
    """
    _start_if_due(place, None, "")


def start_refresh(runtime: Runtime, index_dir: Path | None, client: str) -> bool:
    """Start to bring the index up to date as time passes, unless a build runs, one was started
    within PAUSE_S, or nothing says what the index covers. Returns whether it was started.

    Raises CapdiscError where the user's state cannot be written.
    """
    from capdisc.context.coverage import complete_coverage
    from capdisc_indexer.indexing.previous_build import recover_settings

    config = runtime.config()
    if runtime.shared_index(index_dir, config):
        return False
    place = locate_index(runtime, config, index_dir)
    runtime, config, where = place.runtime, place.config, place.index_dir

    def is_usual() -> bool | None:  # takes 20 ms
        previous = recover_settings(where, runtime.builder_id(where))
        if read_pointer(where) and not previous.is_known:
            return None
        return complete_coverage(runtime, config, previous).is_conventional

    return _start_if_due(place, index_dir, client, PAUSE_S, is_usual) == 0


def is_running(place: IndexPlace) -> bool:
    """Whether a build of the index is running in the background."""
    with suppress(CapdiscError):
        lock = _lock_build(place)
        if lock is None:
            return True
        os.close(lock)
    return False


def _start_if_due(
    place: IndexPlace,
    index_dir: Path | None,
    client: str,
    pause_s: float = 0,
    is_usual: Callable[[], bool | None] = lambda: True,
) -> float | None:
    """Start the build, unless one runs or was started within `pause_s`. `is_usual` is asked then
    whether the index covers the usual folders; None, where nothing says so, starts nothing.

    Returns the seconds since the last start where that was too recent, 0 where the build was
    started, and else None. Raises CapdiscError where the user's state cannot be written.
    """
    lock = _lock_build(place)
    if lock is None:
        return None
    try:
        if pause_s and (waited_s := time.time() - _read_time(lock)) < pause_s:
            return max(waited_s, 0.1)
        if (covers_usual := is_usual()) is None:
            return None
        system.overwrite_file(lock, f"{time.time():.0f}".encode())
        _start_process(lock, index_dir, client, place.runtime.cwd, again=not covers_usual)
        return 0
    finally:
        os.close(lock)  # the process has the lock, too, and keeps it


def _start_process(
    lock: int, index_dir: Path | None, client: str, folder: Path, *, again: bool
) -> None:
    words = [client, *(["--again"] if again else [])]
    words += [] if index_dir is None else ["--index-dir", str(index_dir)]
    start_process("capdisc.hook.quiet_build", words, folder, lock)


def _lock_build(place: IndexPlace) -> int | None:
    """A file with the lock on builds of this index; None where a build holds it. Raises
    CapdiscError where the folder cannot be used.
    """
    folder = place.runtime.user_state_dir() / "hook"
    make_private_folder(folder)
    digits = hashlib.sha256(os.fsencode(place.index_dir)).hexdigest()[:24]
    try:
        lock = system.open_or_create(folder / f"{digits}.build")
    except OSError as error:
        raise InputError(
            f"cannot write in {folder}: {error.strerror}", "check its permissions"
        ) from error
    try:
        system.lock_file(lock)
    except OSError:
        os.close(lock)
        return None
    return lock


def _read_time(lock: int) -> float:
    with suppress(OSError, ValueError):
        written_s = float(system.read_at(lock, 30, 0))
        # Rounded to a second. A later time was written while the clock was ahead.
        return written_s if written_s <= time.time() + 1 else 0.0
    return 0.0
