"""Keeps workers alive behind one socket, and imports nothing that could take it down with them."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from capdisc.serve.claim import Claim

# A worker that dies at once, again and again, is started ever more rarely, up to so many seconds.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_LIVED_S = 10.0
_LOOK_S = 5.0
# What a worker that was told to end may take before it is killed: it holds nothing that must be written.
_ENDING_S = 0.5
# The same modules as here, wherever they were found, and none from the current folder.
_START = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); from capdisc.serve import worker; worker.main()"
)


class Worker:
    """The process that answers, and the channel that tells each of the two whether the other lives."""

    def __init__(self, claim: Claim, idle_s: float) -> None:
        self.channel, theirs = socket.socketpair()
        handles = (claim.socket.fileno(), theirs.fileno())
        path = os.pathsep.join(os.path.abspath(each) for each in sys.path if each)  # noqa: PTH100
        command = [sys.executable, "-P", "-c", _START, path, str(claim.path), *map(str, handles), str(idle_s)]
        quiet = subprocess.DEVNULL
        with theirs:
            self._process = subprocess.Popen(command, pass_fds=handles, stdin=quiet, stdout=quiet, stderr=quiet)

    def end(self) -> int:
        """Its exit status, after it was told to end, or has."""
        self.channel.close()
        try:
            return self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def supervise(
    claim: Claim, idle_s: float, ready: Callable[[], None], stop: int | None = None, workers: int = 1
) -> None:
    """Answer at this socket until no worker was asked anything for `idle_s` seconds, something can be read from `stop`,
    or the socket is not the claimed one any more. `ready` is called once the first worker answers; what it
    raises ends all.

    All workers take from the one socket; each has a thread here that does nothing but wait for its end.
    """
    others = [
        threading.Thread(target=_keep, args=(claim, idle_s, _nothing, stop), daemon=True) for _ in range(workers - 1)
    ]
    for each in others:
        each.start()
    _keep(claim, idle_s, ready, stop)
    for each in others:
        each.join()


def _keep(claim: Claim, idle_s: float, ready: Callable[[], None], stop: int | None) -> None:
    """One worker after the other, until one ends by itself or all is to end."""
    pause_s = _FIRST_PAUSE_S
    while True:
        started = time.monotonic()
        if worker := _started(claim, idle_s):
            try:
                is_over = not _lived(worker, claim, ready, stop)
            finally:
                status = worker.end()
            if is_over or not status:
                return
            ready = _nothing
        pause_s = _FIRST_PAUSE_S if time.monotonic() - started > _LIVED_S else min(2 * pause_s, _LONGEST_PAUSE_S)
        if select.select([] if stop is None else [stop], [], [], pause_s)[0]:
            return


def _started(claim: Claim, idle_s: float) -> Worker | None:
    """None where no process can be made: perhaps later."""
    try:
        return Worker(claim, idle_s)
    except OSError:
        return None


def _lived(worker: Worker, claim: Claim, ready: Callable[[], None], stop: int | None) -> bool:
    """Wait for the worker's end. False when all is to end."""
    stops = [] if stop is None else [stop]
    while claim.is_ours():
        channel = worker.channel.fileno()
        found, _, _ = select.select([channel, *stops], [], [], _LOOK_S)
        if found and found != [channel]:
            return False
        if found:
            with suppress(ConnectionError):
                if worker.channel.recv(1):
                    ready()
                    continue
            return True
    return False


def _nothing() -> None:
    """Another worker is ready: nobody waits for that."""
