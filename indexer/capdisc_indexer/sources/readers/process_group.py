"""A program in a process group of its own, which is ended with everything that it started."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from capdisc_indexer.platforms import system


@contextmanager
def delay_signals() -> Iterator[None]:
    """Delays the signals that end a command until the block is left, and raises the first of them
    there: the caller must be ready to end what was started in it. In a thread that is not the main
    one, no signal interrupts, and nothing is changed.
    """
    pending_signals: list[int] = []
    handlers = {}
    if current_thread() is main_thread():
        handlers = {number: signal.getsignal(number) for number in system.STOP_SIGNALS}
    replaced = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in replaced:
        signal.signal(number, lambda number, _: pending_signals.append(number))
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)
        if pending_signals:
            signal.raise_signal(pending_signals[0])


@contextmanager
def managed_process(
    start: Callable[[], subprocess.Popen[bytes]],
) -> Iterator[subprocess.Popen[bytes]]:
    """The program that `start` starts, which must lead a process group of its own. If anything
    goes wrong from then on, the whole group is killed; else the block ends once the program has
    ended.
    """
    child: subprocess.Popen[bytes] | None = None
    try:
        with delay_signals():
            child = start()
        yield child
    except BaseException:
        # Once the program was waited for, its number may be that of another group.
        if child is not None and child.returncode is None:
            system.kill_group(child.pid)
        raise
    finally:
        if child is not None:
            with child:  # closes its pipes and waits for it
                pass
