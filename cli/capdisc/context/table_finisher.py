"""How does the LanceDB table follow an update, without making anybody wait for it?

A first `capdisc index` that a person types leaves the table to a process of its own; what a search
or a hook builds has none until somebody asks for it. Later updates of a table are left to such a
process, too, once an hour at most: the import of LanceDB takes 1.7 s of the processor, an update
of the index 0.3. The process holds the lock of the table and a lease on the generation, never the
lock of the index, so it keeps no writer waiting; where it is killed, the next one does its work.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

from capdisc.context.background_process import start_process
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.store import lance_table

MODES = ("aside", "wait", "off")
PAUSE_S = 3600


def choose_mode(config: Config) -> str:
    """When the table follows the index: aside, wait or off. Raises UsageError for another value of
    the setting `table`.
    """
    mode: str = config["table"]
    if mode not in MODES:
        raise UsageError(
            f"the setting table is one of {', '.join(MODES)}, not {mode!r}", "see: capdisc config"
        )
    return mode


def start_finisher(
    config: Config, index_dir: Path, builder_id: str | None, *, is_first: bool = False
) -> bool:
    """Start to bring the table up to date in a process of its own, where there is one that was
    written more than an hour ago and is behind, or none at all after a first build (`is_first`),
    and the setting does not forbid it. Returns whether a process was started.
    """
    if choose_mode(config) == "off" or lance_table.equals_index(index_dir):
        return False
    with suppress(OSError):
        state_file = lance_table.state_file(index_dir)
        is_missing = is_first and not state_file.exists()
        if not is_missing and 0 <= time.time() - state_file.stat().st_mtime < PAUSE_S:
            return False
        start_process("capdisc.context.table_finisher", [str(index_dir), builder_id or ""])
        return True
    return False


def finish_table(index_dir: Path, builder_id: str | None, *, verify: bool = False) -> str:
    """Bring the table up to date now; with `verify`, compare every row first. Returns why that
    failed, "" where it did not.
    """
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
