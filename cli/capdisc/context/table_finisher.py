"""How does the LanceDB table follow a small update, without making anybody wait for it?

The import of LanceDB takes a second, and the update itself does without. So a process of its own
brings the table up to date once the command has answered. It holds the lock of the table and a lease
on the generation, never the lock of the index, so it keeps no writer waiting; where it is killed,
the next one does its work.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc.context.background_process import start_process
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import CapdiscError, UsageError
from capdisc_indexer.store import lance_table

MODES = ("aside", "wait", "off")


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


def start_finisher(config: Config, index_dir: Path, builder_id: str | None) -> bool:
    """Start to bring the table up to date in a process of its own, where it is behind and the
    setting does not forbid it. Returns whether a process was started.
    """
    if choose_mode(config) == "off" or lance_table.equals_index(index_dir):
        return False
    with suppress(OSError):
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
    except (CapdiscError, OSError) as error:
        reason = error.message if isinstance(error, CapdiscError) else error.strerror or str(error)
        return f"the LanceDB table is behind: {reason}"
    return ""


def main() -> None:
    """Bring the table of the index in `sys.argv[1]` up to date, unless another process waits to do
    the same.
    """
    index_dir, builder_id = Path(sys.argv[1]), sys.argv[2] or None
    with suppress(CapdiscError, OSError):
        with _take_turn(index_dir) as is_next:
            if not is_next:
                return
            # Whoever comes after this line waits in turn, and looks at the index again then.
            with lance_table.table_lock(index_dir, lance_table.LOCK_TIMEOUT_S):
                pass
        finish_table(index_dir, builder_id)


@contextmanager
def _take_turn(index_dir: Path) -> Iterator[bool]:
    """Whether no other process waits for the lock of the table. Raises FileNotFoundError where the
    folder of the index is gone.
    """
    fd = os.open(
        lance_table.make_table_folder(index_dir) / "QUEUE",
        os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o600,
    )
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)
