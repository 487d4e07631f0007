"""Other processes for the work on a large catalogue: reading and cutting texts is Python's own
work, one core's worth.

A hand answers what it is asked through its pipes, and ends when they do: when the builder is
killed, so are they.
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
from typing import Any, Generic, TypeVar

# Work that waits for the disk or for a digest, done beside the rest: both leave Python to others
# meanwhile.

TaskResultT = TypeVar("TaskResultT")


class BackgroundTask(Generic[TaskResultT]):
    """Starts at once; `result` waits for it. Where this user may have no more threads, it is done
    there and then.
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
        """What the work gave. Raises what the work raised."""
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


JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

# Starting one takes half a second of its time, which is that of 200 files.
MIN_PARALLEL_ITEMS = 1_000
# How seldom rings of values are looked for: a build makes many values, keeps them and makes no
# rings, and that search took a tenth of it.
GC_THRESHOLDS = (100_000, 50, 100)
_MAX_WORKERS = 8
_BATCH_SIZE = 32
_WORKER_SCRIPT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from capdisc_indexer.indexing import worker_pool; worker_pool.serve()"
# What a hand that was killed, or an answer that it could not send, ends in.
_WORKER_ERRORS = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


class WorkerPool:
    """As many as there are processors, from the first large work on; none where there is only one
    processor.

    From then on this process waits for answers most of the time: it does `meanwhile` in a thread.
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
        """Wait for what was begun meanwhile, if it was; raises what that raised."""
        if self._background:
            self._background.result()

    def map(
        self,
        work: Callable[[JobT], ResultT],
        items: Iterable[JobT],
        count: int,
        run_here: Callable[[JobT], ResultT] | None = None,
    ) -> Iterator[ResultT]:
        """What `work`, a function of a module, gives for each of the `count` items, in their
        order. Little work, and that of a hand that fails, is done in this process, by `run_here`
        if that is given.
        """
        if count < MIN_PARALLEL_ITEMS or not self._start_workers():
            return map(run_here or work, items)
        return self._map_parallel(work, items, run_here or work)

    def _start_workers(self) -> bool:
        if not self._children and (count := _count_processors()) > 1 and sys.executable:
            with suppress(OSError):  # no more processes for this user: it takes longer
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
    ) -> Iterator[ResultT]:
        from concurrent.futures import Future, ThreadPoolExecutor
        from queue import SimpleQueue

        free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for child in self._children:
            free.put(child)

        def ask(batch: Sequence[JobT]) -> list[ResultT]:
            child = free.get()
            try:
                return _run_in_worker(child, work, batch)
            except BaseException:
                # half an answer may be on its way, and the next question would wait behind it
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
            while batch := list(islice(remaining, _BATCH_SIZE)):
                waiting.append((batch, _submit_batch(pool, ask, batch)))
                if len(waiting) > 2 * len(self._children):
                    yield from batch_results(*waiting.popleft())
            while waiting:
                yield from batch_results(*waiting.popleft())


def _submit_batch(
    pool: Any, ask: Callable[[Sequence[JobT]], list[ResultT]], batch: Sequence[JobT]
) -> Any:
    """The answer to come; where this user may have no more threads, one that says so."""
    try:
        return pool.submit(ask, batch)
    except RuntimeError as error:
        from concurrent.futures import Future

        refused: Future[list[ResultT]] = Future()
        refused.set_exception(OSError(str(error)))
        return refused


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", _WORKER_SCRIPT, json.dumps(sys.path)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing)


def _run_in_worker(
    child: subprocess.Popen[bytes], work: Callable[..., Any], batch: Sequence[Any]
) -> list[Any]:
    assert child.stdin and child.stdout
    child.stdin.write(pickle.dumps((work, batch)))
    child.stdin.flush()
    answers: list[Any] = pickle.load(child.stdout)
    return answers


def serve() -> None:
    """Answer until the one who asks is gone."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # which a terminal sends to all; the builder ends its hands
    gc.set_threshold(*GC_THRESHOLDS)
    with os.fdopen(os.dup(1), "wb") as answers, suppress(*_WORKER_ERRORS):
        os.dup2(2, 1)  # what a library prints is no answer
        while True:
            work, batch = pickle.load(sys.stdin.buffer)
            pickle.dump([work(job) for job in batch], answers)
            answers.flush()
