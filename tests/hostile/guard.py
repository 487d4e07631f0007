"""What a process does beyond its own folders, told by Python's audit hook, which nothing can switch off again."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CONNECTS = (
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "socket.bind",
    "urllib.Request",
)
_STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.startfile",
    "pty.spawn",
)
# The events that change a folder, each with where its paths and their folders' descriptors stand among its arguments.
_CHANGES = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.chmod": ((0, 2),),
    "os.truncate": ((0, 9),),
    "os.symlink": ((1, 2),),
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((1, 3),),
}
_DEVICES = ("/dev/", "/proc/self/")
# Folders of links that a reader of the index makes for a moment, below here and the process's own number.
_SCRATCH = Path("/tmp")


class Guard:
    """Notes connections, programs started, and every change outside `allowed` while it is switched on."""

    def __init__(self) -> None:
        self._noted: list[str] = []
        self._left: list[str] = []
        self._allowed: tuple[str, ...] = ()
        self._is_on = False
        sys.addaudithook(self._hook)

    def start(self, allowed: tuple[str, ...]) -> None:
        """Watch from now on; what was noted before is forgotten."""
        self._noted, self._is_on = [], True
        self._allowed = (*allowed, *_DEVICES, f"{_SCRATCH}/{_own_scratch()}")

    def stop(self) -> tuple[str, ...]:
        """What was noted, each once, and what was left behind for good."""
        self._is_on = False
        left = [
            str(path)
            for path in _SCRATCH.glob(f"{_own_scratch()}*")
            if str(path) not in self._left
        ]
        self._left += left
        return tuple(dict.fromkeys([*self._noted, *(f"left behind: {path}" for path in left)]))

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._is_on:
            return
        if event in _CONNECTS:
            self._noted.append(f"a connection: {event}{args[1:]!r}")
        elif event in _STARTS:
            self._noted.append(f"a program: {event} {args[0]!r}")
        elif event == "open" and _writes(args):
            self._note_change(event, args[0], -1)
        elif event in _CHANGES:
            for path, folder in _CHANGES[event]:
                self._note_change(event, args[path], args[folder] if folder < len(args) else -1)

    def _note_change(self, event: str, path: Any, folder: int) -> None:
        if isinstance(path, int):  # a descriptor was opened by somebody who was asked then
            return
        below = os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else os.getcwd()
        absolute = os.path.normpath(os.path.join(below, os.fsdecode(path)))
        if not absolute.startswith(self._allowed):
            self._noted.append(f"a change: {event} {absolute!r}")


def _own_scratch() -> str:
    return f"capdisc-{os.getpid()}-"


def _writes(args: tuple[Any, ...]) -> bool:
    return bool(len(args) > 2 and isinstance(args[2], int) and args[2] & _WRITES & ~os.O_CLOEXEC)


# One for the process: a hook stays for good.
GUARD = Guard()
