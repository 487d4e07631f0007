"""What a stretch of work costs this process in memory, and what it changed on disk."""

from __future__ import annotations

import os
from pathlib import Path

Snapshot = dict[str, tuple[int, ...]]


def snapshot(base: Path) -> Snapshot:
    """Everything below the folder but its index and the user's own state: type, size and time of the last change."""
    seen = {}
    for folder, folders, names in os.walk(base):
        if folder == str(base) and "index" in folders:
            folders.remove("index")
        if folder.endswith("/home/.local/state/capdisc"):
            folders.clear()
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            seen[path] = (
                status.st_mode,
                0 if name in folders else status.st_size,
                status.st_mtime_ns,
            )
    return seen


def changes(before: Snapshot, after: Snapshot) -> list[str]:
    """What differs. Files may come and go in the folder for temporary ones, but none may stay."""
    differing = [
        path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    ]
    return [f"changed: {path}" for path in sorted(differing) if not path.endswith("/tmp")]


def forget_peak() -> None:
    """Linux counts the peak of memory again from here; elsewhere it stays that of the whole process."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def mebibytes(name: str) -> float:
    """A line of the process's status: VmRSS for what it holds now, VmHWM for its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))
