"""Keeps workers alive behind one socket, and imports nothing that could take it down with them."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc.serve.claim import ServerClaim, claim_socket

# A worker that dies at once, again and again, is started ever more rarely, up to so many seconds.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_STABLE_S = 10.0
_CHECK_INTERVAL_S = 5.0
# What a worker that was told to end may take before it is killed: it holds nothing that must be
# written.
_SHUTDOWN_S = 0.5
# The same modules as here, wherever they were found, and none from the current folder.
_WORKER_CODE = "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); from capdisc.serve import worker; worker.main()"


class Worker:
    """The process that answers, and the channel that tells each of the two whether the other
    lives.
    """

    def __init__(self, claim: ServerClaim, idle_s: float) -> None:
        self.channel, theirs = socket.socketpair()
        handles = (claim.socket.fileno(), theirs.fileno())
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)  # noqa: PTH100
        command = [
            sys.executable,
            "-P",
            "-c",
            _WORKER_CODE,
            path,
            str(claim.path),
            *map(str, handles),
            str(idle_s),
        ]
        quiet = subprocess.DEVNULL
        with theirs:
            self._process = subprocess.Popen(
                command, pass_fds=handles, stdin=quiet, stdout=quiet, stderr=quiet
            )

    def end(self) -> int:
        """Its exit status, after it was told to end, or has."""
        self.channel.close()
        try:
            return self._process.wait(_SHUTDOWN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def supervise(
    claim: ServerClaim,
    idle_s: float,
    ready: Callable[[], None],
    stop: int | None = None,
    workers: int = 1,
) -> None:
    """Answer at this socket until no worker was asked anything for `idle_s` seconds, something can
    be read from `stop`, or the socket is not the claimed one any more. `ready` is called once the
    first worker answers; what it raises ends all.

    All workers take from the one socket; each has a thread here that does nothing but wait for its
    end.
    """
    threads = [
        threading.Thread(
            target=_keep_worker_alive, args=(claim, idle_s, _ignore_ready, stop), daemon=True
        )
        for _ in range(workers - 1)
    ]
    for thread in threads:
        thread.start()
    _keep_worker_alive(claim, idle_s, ready, stop)
    for thread in threads:
        thread.join()


def _keep_worker_alive(
    claim: ServerClaim, idle_s: float, ready: Callable[[], None], stop: int | None
) -> None:
    """One worker after the other, until one ends by itself or all is to end."""
    pause_s = _FIRST_PAUSE_S
    while True:
        started = time.monotonic()
        if worker := _start_worker(claim, idle_s):
            try:
                is_over = not _wait_for_worker(worker, claim, ready, stop)
            finally:
                status = worker.end()
            if is_over or not status:
                return
            ready = _ignore_ready
        pause_s = (
            _FIRST_PAUSE_S
            if time.monotonic() - started > _STABLE_S
            else min(2 * pause_s, _LONGEST_PAUSE_S)
        )
        if select.select([] if stop is None else [stop], [], [], pause_s)[0]:
            return


def _start_worker(claim: ServerClaim, idle_s: float) -> Worker | None:
    """None where no process can be made: perhaps later."""
    try:
        return Worker(claim, idle_s)
    except OSError:
        return None


def _wait_for_worker(
    worker: Worker, claim: ServerClaim, ready: Callable[[], None], stop: int | None
) -> bool:
    """Wait for the worker's end. False when all is to end."""
    stops = [] if stop is None else [stop]
    while claim.is_ours():
        channel = worker.channel.fileno()
        ready_fds, _, _ = select.select([channel, *stops], [], [], _CHECK_INTERVAL_S)
        if ready_fds and ready_fds != [channel]:
            return False
        if ready_fds:
            with suppress(ConnectionError):
                if worker.channel.recv(1):
                    ready()
                    continue
            return True
    return False


def _ignore_ready() -> None:
    """Another worker is ready: nobody waits for that."""


# A server in the process of another command, whose end is its end.


@contextmanager
def serve_in_thread(path: Path, ready: Callable[[], None]) -> Iterator[None]:
    """Inside, the commands of this workspace are answered at the socket. Raises what `claimed`
    does.
    """
    with claim_socket(path) as claim:
        stop, stopping = os.pipe()
        thread = threading.Thread(target=supervise, args=(claim, 0.0, ready, stop), daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(stopping)
            thread.join()
            os.close(stop)
