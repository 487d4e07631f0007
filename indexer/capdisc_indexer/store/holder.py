"""Who holds the write lock: told to people, and to machines that share a disk but not its locks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.frozen import frozen

_LONGEST = 300


@frozen(kw_only=True)
class Holder:
    """A process that wrote its name into the lock file, and has not taken it out again."""

    pid: int
    host: str

    @property
    def is_elsewhere(self) -> bool:
        """Whether it ran on another machine, where nothing can be seen of it."""
        return self.host != os.uname().nodename

    @property
    def state(self) -> str:
        """One of "on HOST", "running", "stopped" and "gone"."""
        if self.is_elsewhere:
            return f"on {self.host}"
        try:
            # proc_pid_stat(5): the name in brackets may hold anything, the state follows it.
            letter = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "gone" if Path("/proc/self").exists() else "running"
        return {"T": "stopped", "t": "stopped", "Z": "gone", "X": "gone"}.get(letter, "running")

    def __str__(self) -> str:
        state = self.state
        return f"process {self.pid}" if state == "running" else f"process {self.pid} ({state})"


def sign(handle: int) -> None:
    """Write this process's name; it helps people, and a disk that is too full for it is noticed later."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {os.uname().nodename}\n".encode(), 0)


def unsign(handle: int) -> None:
    """Take the name out again."""
    with suppress(OSError):
        os.ftruncate(handle, 0)


def read(handle: int) -> Holder | None:
    """Whose name stands in the lock file, if anyone's."""
    pid, _, host = os.pread(handle, _LONGEST, 0).decode(errors="replace").strip().partition(" ")
    return Holder(pid=int(pid), host=host or os.uname().nodename) if pid.isdigit() and len(pid) < 20 else None
