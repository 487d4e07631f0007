"""Keeps workers alive behind one socket. It imports nothing that could crash it, too."""

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

# The pause before a worker is started again; it doubles while workers die at once.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_STABLE_S = 10.0
_CHECK_INTERVAL_S = 5.0
# How long a worker may take to end before it is killed; it has nothing to write.
_SHUTDOWN_S = 0.5
# With the same sys.path as here, and without the current folder.
_WORKER_CODE = "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); from capdisc.serve import worker; worker.main()"


class Worker:
    """A process that answers, and a channel by which it and the supervisor know that the other
    lives.
    """

    def __init__(self, claim: ServerClaim, idle_s: float, workers: int) -> None:
        self.channel, worker_end = socket.socketpair()
        handles = (claim.socket.fileno(), worker_end.fileno())
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
            str(workers),
        ]
        nowhere = subprocess.DEVNULL
        with worker_end:
            self._process = subprocess.Popen(
                command, pass_fds=handles, stdin=nowhere, stdout=nowhere, stderr=nowhere
            )

    def end(self) -> int:
        """End the worker, if it has not ended, and return its exit status."""
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
    """Answer at this socket until no client has asked for `idle_s` seconds, something can be read
    from the descriptor `stop`, or another file lies at the path of the socket. `ready` is called
    once the first worker answers; what it raises ends everything.

    All workers accept from the one socket; for each there is a thread here that waits for its end.
    The first one starts alone, since two that start together both take as long.
    """
    threads = [
        threading.Thread(
            target=_keep_worker_alive,
            args=(claim, idle_s, workers, _ignore_ready, stop),
            daemon=True,
        )
        for _ in range(workers - 1)
    ]
    is_ready = False

    def start_others() -> None:
        nonlocal is_ready
        if not is_ready:
            is_ready = True
            ready()
            for thread in threads:
                thread.start()

    _keep_worker_alive(claim, idle_s, workers, start_others, stop)
    for thread in threads:
        if thread.is_alive():
            thread.join()


def default_workers() -> int:
    """Two where this process may use two processors: then a short question does not wait behind a
    long one. Each takes memory of its own.
    """
    from capdisc_indexer.indexing.worker_pool import count_processors

    return min(2, count_processors())


def _keep_worker_alive(
    claim: ServerClaim,
    idle_s: float,
    workers: int,
    ready: Callable[[], None],
    stop: int | None,
) -> None:
    """Start one worker after the other, until one ends without an error or the server has to end."""
    pause_s = _FIRST_PAUSE_S
    while True:
        started = time.monotonic()
        if worker := _start_worker(claim, idle_s, workers):
            try:
                is_over = not _wait_for_worker(worker, claim, ready, stop)
            finally:
                status = worker.end()
            if is_over or not status:
                return
        pause_s = (
            _FIRST_PAUSE_S
            if time.monotonic() - started > _STABLE_S
            else min(2 * pause_s, _LONGEST_PAUSE_S)
        )
        if select.select([] if stop is None else [stop], [], [], pause_s)[0]:
            return


def _start_worker(claim: ServerClaim, idle_s: float, workers: int) -> Worker | None:
    """A new worker; None where the system has no room for a process now."""
    try:
        return Worker(claim, idle_s, workers)
    except OSError:
        return None


def _wait_for_worker(
    worker: Worker, claim: ServerClaim, ready: Callable[[], None], stop: int | None
) -> bool:
    """Wait for the end of the worker. False where the server has to end."""
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
    """Do nothing: only the first worker is waited for."""


@contextmanager
def serve_in_thread(path: Path, ready: Callable[[], None]) -> Iterator[None]:
    """A server in a thread of this process while the block runs. Raises what `claim_socket` does."""
    with claim_socket(path) as claim:
        stop, stopping = os.pipe()
        arguments = (claim, 0.0, ready, stop, default_workers())
        thread = threading.Thread(target=supervise, args=arguments, daemon=True)
        thread.start()
        try:
            yield
        finally:
            os.close(stopping)
            thread.join()
            os.close(stop)
