"""What is left to do once an index was built: its LanceDB table follows, and the indexes that
nobody needs any more are removed.

A first `capdisc index` that a person types leaves the table to a process of its own; what a search
or a hook builds has none until somebody asks for it. Later updates of a table are left to such a
process, too, once an hour at most: the import of LanceDB takes 1.7 s of the processor, an update
of the index 0.3. The process holds the lock of the table and a lease on the generation, never the
lock of the index, so it keeps no writer waiting; where it is killed, the next one does its work.

Every project gets an index of its own, and projects come and go. An index can be made again at any
time, so one that was not used for long is removed, sooner where its folder is gone. What cannot be
made again (trust, sessions, facts) stays, and so does an index with paths that a person added, as
long as its folder is there: nothing else knows them.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from capdisc.context.background_process import start_process
from capdisc.output import console
from capdisc_indexer.indexing.missing_folders import KEPT_S
from capdisc_indexer.indexing.previous_build import (
    is_built_by,
    load_json_object,
    recover_settings,
)
from capdisc_indexer.model.errors import CapdiscError, IndexStateError, UsageError
from capdisc_indexer.store import generation, lance_table, locks, state_file

if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime
    from capdisc_indexer.config.configuration import Config

# When the table follows the index, and how long one that was updated stays as it is.
TABLE_MODES = ("aside", "wait", "off")
PAUSE_S = 3600
_DAY_S = 24 * 3600
# Named by `folder_label` and `collection_dir` in config/configuration.py.
_INDEX_NAME = re.compile(r".*-[0-9a-f]{8}(?P<collection>\.[A-Za-z0-9][A-Za-z0-9_-]*)?")
# What a build that nobody looks at removed; the next one that somebody does says it.
_REMOVED_FILE = "removed-indexes"


def choose_table_mode(config: Config) -> str:
    """When the table follows the index: aside, wait or off. Raises UsageError for anything else."""
    mode: str = config["table"]
    if mode not in TABLE_MODES:
        raise UsageError(
            f"the setting table is one of {', '.join(TABLE_MODES)}, not {mode!r}",
            "see: capdisc config",
        )
    return mode


def start_table_update(
    config: Config, index_dir: Path, builder_id: str | None, *, is_first: bool = False
) -> bool:
    """Start to bring the table up to date in a process of its own, where there is one that was
    written more than an hour ago and is behind, or none at all after a first build (`is_first`),
    and the setting does not forbid it. Returns whether a process was started.
    """
    if choose_table_mode(config) == "off" or lance_table.equals_index(index_dir):
        return False
    with suppress(OSError):
        table_state = lance_table.state_file(index_dir)
        is_missing = is_first and not table_state.exists()
        if not is_missing and 0 <= time.time() - table_state.stat().st_mtime < PAUSE_S:
            return False
        start_process("capdisc.context.housekeeping", [str(index_dir), builder_id or ""])
        return True
    return False


def finish_table(index_dir: Path, builder_id: str | None, *, verify: bool = False) -> str:
    """Update the table now; with `verify`, compare every row first. Returns why it failed, or ""."""
    from capdisc_indexer.indexing.table_update import update_table

    try:
        update_table(index_dir, builder_id, verify=verify)
    except CapdiscError as error:
        return f"the LanceDB table is behind: {error.message} ({error.hint})"
    except OSError as error:
        reason = error.strerror or str(error)
        return f"the LanceDB table is behind: {reason}"
    return ""


def main() -> None:
    """Bring the table of the index in `sys.argv[1]` up to date, unless another process does: that
    one goes on until nothing is newer.
    """
    from capdisc_indexer.indexing.table_update import update_table

    with suppress(CapdiscError, OSError):
        update_table(Path(sys.argv[1]), sys.argv[2] or None, timeout_s=0)


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
    """Whether the folder that the index was built for is gone; a collection is for no folder."""
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
    """Remove the index. Raises BusyError while it is written, IndexStateError while it is read."""
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
