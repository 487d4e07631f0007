"""Which indexes does nobody need any more, and what is said of their removal?

Every project gets an index of its own, and projects come and go. An index can be made again at any
time, so one that was not used for long is removed, sooner where its folder is gone. What cannot be
made again (trust, sessions, facts) stays, and so does an index with paths that a person added, as
long as its folder is there: nothing else knows them.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_indexer.indexing.missing_folders import KEPT_S
from capdisc_indexer.indexing.previous_build import (
    is_built_by,
    load_json_object,
    recover_settings,
)
from capdisc_indexer.model.errors import CapdiscError, IndexStateError
from capdisc_indexer.store import generation, locks, state_file

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config

_DAY_S = 24 * 3600
# Named by `_folder_label` and `collection_dir` in config/configuration.py.
_INDEX_NAME = re.compile(r".*-[0-9a-f]{8}(?P<collection>\.[A-Za-z0-9][A-Za-z0-9_-]*)?")
# What a build that nobody looks at removed; the next one that somebody does says it.
_REMOVED_FILE = "removed-indexes"


def collect_indexes(runtime: Runtime, config: Config, used: Path, *, is_quiet: bool) -> None:
    """Remove the indexes of this user in the cache folder that nobody needs, but for the one that
    is `used` now, and print which; with `is_quiet`, the next call without it does.
    """
    names = [folder.name for folder in _remove_unused(runtime, config, used)]
    note = runtime.user_state_dir() / _REMOVED_FILE
    with suppress(CapdiscError, OSError):
        if not names and (is_quiet or not note.exists()):
            return
        with state_file.lock_folder(note.parent):
            names = [*(state_file.read_state_file(note) or b"").decode().splitlines(), *names]
            if is_quiet:
                state_file.replace_state_file(note, "\n".join(names).encode())
                return
            state_file.remove(note)
        console.print_notice(
            f"notice: removed {console.format_count(len(names), 'index', 'indexes')} no longer in "
            f"use: {console.format_names(names)}; see keep_indexes_days in capdisc config"
        )


def _remove_unused(runtime: Runtime, config: Config, used: Path) -> Iterator[Path]:
    kept_s = config["keep_indexes_days"] * _DAY_S
    if kept_s <= 0:
        return
    for lock in sorted(runtime.default_index_dir(runtime.home).parent.glob("*/LOCK")):
        folder = lock.parent
        with suppress(CapdiscError, OSError):
            unused_s = time.time() - lock.stat().st_mtime
            if unused_s <= min(kept_s, KEPT_S) or folder == used:
                continue
            is_abandoned, has_added = _is_abandoned(runtime, folder), _has_added_paths(folder)
            is_old = unused_s > kept_s or (is_abandoned and not has_added)
            if is_old and (is_abandoned or not has_added) and _is_own_index(runtime, folder):
                _remove(runtime, folder)
                yield folder


def _is_own_index(runtime: Runtime, folder: Path) -> bool:
    """Whether this user built the index, and nothing else lies in its folder."""
    if folder.is_symlink() or not _INDEX_NAME.fullmatch(folder.name):
        return False
    generation.check_folder(folder)
    return bool(runtime.builder_id(folder)) and is_built_by(folder, runtime.builder_id(folder))


def _is_abandoned(runtime: Runtime, folder: Path) -> bool:
    """Whether the index was built for a folder that is gone. Collections are named by people, who
    may want them elsewhere.
    """
    published = generation.load_unchecked(folder)
    if published is None:
        return False
    record = generation.generation_folder(folder, published.number) / "meta" / "scan.json"
    workspace = str(load_json_object(record).get("workspace", ""))
    is_usual = workspace and runtime.default_index_dir(Path(workspace)) == folder
    return bool(is_usual) and not Path(workspace).exists()


def _has_added_paths(folder: Path) -> bool:
    coverage = recover_settings(folder).coverage
    return coverage is not None and bool(coverage.added)


def _remove(runtime: Runtime, folder: Path) -> None:
    """Remove the index. Raises BusyError where somebody writes it, and IndexStateError where
    somebody reads it.
    """
    with locks.write_lock(folder, 0):
        for lease in folder.glob("gens/*/LEASE"):
            with locks.try_exclusive(lease) as is_free:
                if not is_free:
                    raise IndexStateError(f"{folder} is being read", "try again")
        (folder / "CURRENT").unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(FileNotFoundError):  # on Windows the folder stays until its lock is closed
        shutil.rmtree(folder)
    generation.forget_builder_id(runtime.trust_dir, folder)
