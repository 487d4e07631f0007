"""Worker processes for large builds, and a background thread for one blocking call.

Parsing texts and building documents is pure Python, which one process runs on one core only. A
worker answers batches of jobs through its pipes and ends when they close: when the builder is
killed, so are its workers.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

TaskResultT = TypeVar("TaskResultT")
JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


class BackgroundTask(Generic[TaskResultT]):
    """Runs a call in a background thread from now on; `result` waits for it.

    For calls that read the disk or compute a digest: both release Python's lock meanwhile. Where
    this user may have no more threads, the call runs at once in this one.
    """

    def __init__(self, work: Callable[[], TaskResultT]) -> None:
        self._work = work
        self._results: list[TaskResultT] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._run()

    def result(self) -> TaskResultT:
        """What the call returned. Raises what the call raised."""
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._error = error


# Starting a worker costs half a second of its time, in which it would parse 200 files.
MIN_PARALLEL_ITEMS = 1_000
# A build makes many values, keeps them, and makes no cycles of references: with the default
# thresholds the garbage collector took a tenth of the time.
GC_THRESHOLDS = (100_000, 50, 100)
_MAX_WORKERS = 8
_BATCH_SIZE = 32
_WORKER_SCRIPT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from capdisc_indexer.indexing import worker_pool; worker_pool.serve()"
)
# What the builder and a worker catch when the other one was killed, or an answer cannot be sent.
_WORKER_ERRORS = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


class WorkerPool:
    """Worker processes, one for each processor, started by the first large `map`; none where there
    is only one processor.

    Once workers run, this process mostly waits for answers: it calls `meanwhile` in a thread.
    """

    def __init__(self, meanwhile: Callable[[], None] | None = None) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._meanwhile = meanwhile
        self._background: BackgroundTask[None] | None = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.communicate()

    def wait_for_background(self) -> None:
        """Waits until `meanwhile` has returned, if it was called. Raises what it raised."""
        if self._background:
            self._background.result()

    def map(
        self,
        work: Callable[[JobT], ResultT],
        items: Iterable[JobT],
        count: int,
        run_here: Callable[[JobT], ResultT] | None = None,
        batch_size: int = _BATCH_SIZE,
    ) -> Iterator[ResultT]:
        """The results of `work`, a function of a module, for each of the items, in order.

        A list of a small `count`, and the batches of a worker that fails, are worked on in this
        process, by `run_here` if there is one.
        """
        if count < MIN_PARALLEL_ITEMS or not self._start_workers():
            return map(run_here or work, items)
        return self._map_parallel(work, items, run_here or work, batch_size)

    def _start_workers(self) -> bool:
        if not self._children and (count := count_processors()) > 1 and sys.executable:
            with suppress(OSError):  # this user may have no more processes: fewer workers
                for _ in range(min(count, _MAX_WORKERS)):
                    self._children.append(_start_worker())
            if self._meanwhile and self._children:
                self._background = BackgroundTask(self._meanwhile)
        return bool(self._children)

    def _map_parallel(
        self,
        work: Callable[[JobT], ResultT],
        items: Iterable[JobT],
        run_here: Callable[[JobT], ResultT],
        batch_size: int,
    ) -> Iterator[ResultT]:
        from concurrent.futures import Future, ThreadPoolExecutor
        from queue import SimpleQueue

        free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for child in self._children:
            free.put(child)

        def run_batch(batch: Sequence[JobT]) -> list[ResultT]:
            child = free.get()
            try:
                return _run_in_worker(child, work, batch)
            except BaseException:
                # Half an answer may be in the pipe, and the next batch would read it as its own.
                child.kill()
                raise
            finally:
                free.put(child)

        def batch_results(
            batch: Sequence[JobT], answer: Future[list[ResultT]]
        ) -> Iterable[ResultT]:
            try:
                return answer.result()
            except _WORKER_ERRORS:
                return map(run_here, batch)

        remaining, waiting = iter(items), deque[tuple[list[JobT], Future[list[ResultT]]]]()
        with ThreadPoolExecutor(len(self._children)) as pool:
            while batch := list(islice(remaining, batch_size)):
                waiting.append((batch, _submit_batch(pool, run_batch, batch)))
                if len(waiting) > 2 * len(self._children):
                    yield from batch_results(*waiting.popleft())
            while waiting:
                yield from batch_results(*waiting.popleft())


def _submit_batch(
    pool: ThreadPoolExecutor,
    run_batch: Callable[[Sequence[JobT]], list[ResultT]],
    batch: Sequence[JobT],
) -> Future[list[ResultT]]:
    """The future results; where this user may have no more threads, a future that failed."""
    try:
        return pool.submit(run_batch, batch)
    except RuntimeError as error:
        from concurrent.futures import Future

        refused: Future[list[ResultT]] = Future()
        refused.set_exception(OSError(str(error)))
        return refused


def count_processors() -> int:
    """The number of processors that this process may use."""
    return system.count_processors()


def _start_worker() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", _WORKER_SCRIPT, json.dumps(sys.path)]
    pipe, discard = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=discard)


def _run_in_worker(
    child: subprocess.Popen[bytes], work: Callable[[JobT], ResultT], batch: Sequence[JobT]
) -> list[ResultT]:
    assert child.stdin and child.stdout
    child.stdin.write(pickle.dumps((work, batch)))
    child.stdin.flush()
    answers: list[ResultT] = pickle.load(child.stdout)
    return answers


def serve() -> None:
    """Answers batches of jobs on stdin until the builder is gone: the main loop of a worker."""
    # A terminal sends an interrupt to all processes; the builder ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*GC_THRESHOLDS)
    with os.fdopen(os.dup(1), "wb") as answers, suppress(*_WORKER_ERRORS):
        os.dup2(2, 1)  # what a library prints must not mix with the answers
        while True:
            work, batch = pickle.load(sys.stdin.buffer)
            pickle.dump([work(job) for job in batch], answers)
            answers.flush()
