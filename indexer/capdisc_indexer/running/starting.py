"""Programs started so that no signal comes between their start and the knowledge of it: they would outlive us."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

# Those that end a command.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def delayed() -> Iterator[None]:
    """What ends a command waits until the block is left, and is raised there: whoever uses this must be ready to end
    what was started in it. In other threads than the main one, which no signal interrupts, nothing is changed."""
    waiting: list[int] = []
    found = {number: signal.getsignal(number) for number in SIGNALS} if current_thread() is main_thread() else {}
    ours = {number: handler for number, handler in found.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


@contextmanager
def held(start: Callable[[], subprocess.Popen[bytes]]) -> Iterator[subprocess.Popen[bytes]]:
    """The program that `start` starts, which must be the first of a group of its own. Whatever goes wrong from then on,
    the whole group is killed; where nothing does, the block is left once the program has been waited for."""
    child: subprocess.Popen[bytes] | None = None
    try:
        with delayed():
            child = start()
        yield child
    except BaseException:
        # Once it was waited for, its number may be that of another group.
        if child is not None and child.returncode is None:
            end(child.pid)
        raise
    finally:
        if child is not None:
            with child:  # which closes its pipes and waits for it
                pass


def end(group: int) -> None:
    """Kill everything in the process group, if anything is left of it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
