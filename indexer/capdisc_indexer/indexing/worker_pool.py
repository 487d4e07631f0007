"""Worker processes for large builds, and a background thread for one blocking call.

Parsing texts and building documents is pure Python, which one process runs on one core only. A
worker answers batches of jobs through its pipes and ends when they close, as they do when the
builder is killed. Where the system can, one process is started, loads what all of them need, and
forks the others: that takes half a second, and once instead of once for each.
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
from functools import partial
from itertools import chain, islice
from typing import IO, Any, Generic, NamedTuple, TypeVar

from capdisc_indexer.platforms import system

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


# Starting workers costs half a second, in which one would parse 200 files.
MIN_PARALLEL_ITEMS = 1_000
# A build makes many values, keeps them, and makes no cycles of references: with the default
# thresholds the garbage collector took a tenth of the time.
GC_THRESHOLDS = (100_000, 50, 100)
_MAX_WORKERS = 8
_BATCH_SIZE = 32
_WORKER_SCRIPT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from capdisc_indexer.indexing import worker_pool; worker_pool.serve(sys.argv[2])"
)
# What the builder and a worker catch when the other one was killed, or an answer cannot be sent.
_WORKER_ERRORS = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


class Worker(NamedTuple):
    """The pipes of a worker, and the process that was started for it: itself, or the one that
    forked it.
    """

    jobs: IO[bytes]
    answers: IO[bytes]
    process: subprocess.Popen[bytes]

    def close(self) -> None:
        """Closes the pipes, which ends the worker."""
        for pipe in self[:2]:
            with suppress(OSError):
                pipe.close()


class WorkerPool:
    """Worker processes, one for each processor, started by the first large `map`; none where there
    is only one processor. Each begins with `prepare`, a function of a module.
    """

    def __init__(self, prepare: Callable[[], None] | None = None) -> None:
        self._workers: list[Worker] = []
        self._prepare = prepare

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        for worker in self._workers:
            worker.close()
            if error:  # nobody waits for what is in hand
                worker.process.kill()
        for worker in self._workers:
            worker.process.wait()

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
        if not self._workers and (count := count_processors()) > 1 and sys.executable:
            count = min(count, _MAX_WORKERS)
            forks = count - 1 if system.FORKS_WORKERS else 0
            with suppress(OSError):  # this user may have no more processes: fewer workers
                while len(self._workers) < count:
                    self._workers += _start_workers(forks, self._prepare)
        return bool(self._workers)

    def _map_parallel(
        self,
        work: Callable[[JobT], ResultT],
        items: Iterable[JobT],
        run_here: Callable[[JobT], ResultT],
        batch_size: int,
    ) -> Iterator[ResultT]:
        from queue import SimpleQueue

        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            free.put(worker)

        def run_batch(batch: Sequence[JobT]) -> list[ResultT] | None:
            worker = free.get()
            try:
                return _run_in_worker(worker, work, batch)
            except _WORKER_ERRORS:
                # Half an answer may be in the pipe, and the next batch would read it as its own.
                worker.close()
                return None
            finally:
                free.put(worker)

        remaining, waiting = iter(items), deque[tuple[list[JobT], BackgroundTask[Any]]]()
        limit = 2 * len(self._workers)
        while (batch := list(islice(remaining, batch_size))) or waiting:
            if batch:
                waiting.append((batch, BackgroundTask(partial(run_batch, batch))))
            if len(waiting) > limit or not batch:
                batch, task = waiting.popleft()
                yield from task.result() or map(run_here, batch)


def count_processors() -> int:
    """The number of processors that this process may use."""
    return system.count_processors()


def _start_workers(forks: int, prepare: Callable[[], None] | None) -> list[Worker]:
    """A new process, and this number of forks of it after it has called `prepare`."""
    pipes = [(*os.pipe(), *os.pipe()) for _ in range(forks)]
    fork_pipes = [
        (os.fdopen(jobs, "wb"), os.fdopen(answers, "rb")) for _, jobs, answers, _ in pipes
    ]
    ends = [(jobs, answers) for jobs, _, _, answers in pipes]
    arguments = json.dumps(sys.path), pickle.dumps((ends, prepare)).hex()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _WORKER_SCRIPT, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[*chain.from_iterable(ends)],
        )
    finally:
        for end in chain.from_iterable(ends):
            os.close(end)
    assert process.stdin and process.stdout
    return [Worker(*pair, process) for pair in ((process.stdin, process.stdout), *fork_pipes)]


def _run_in_worker(
    worker: Worker, work: Callable[[JobT], ResultT], batch: Sequence[JobT]
) -> list[ResultT]:
    worker.jobs.write(pickle.dumps((work, batch)))
    worker.jobs.flush()
    answers: list[ResultT] = pickle.load(worker.answers)
    return answers


def serve(start: str) -> None:
    """Answers batches of jobs until the builder is gone: the main loop of a worker, and of the
    forks that `start` asks for.
    """
    # A terminal sends an interrupt to all processes; the builder ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*GC_THRESHOLDS)
    forks, prepare = pickle.loads(bytes.fromhex(start))
    if prepare:
        prepare()
        gc.freeze()
    jobs, answers = standard_ends = 0, os.dup(1)
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    for fork in forks:
        with suppress(OSError):  # no more processes: its pipes end, as if it was killed
            if not system.fork_process():
                jobs, answers = fork
                break
    # A pipe ends with its worker only if no other process holds it.
    for end in {*standard_ends, *chain.from_iterable(forks)} - {jobs, answers}:
        os.close(end)
    with (
        suppress(*_WORKER_ERRORS),
        os.fdopen(jobs, "rb") as questions,
        os.fdopen(answers, "wb") as replies,
    ):
        while True:
            work, batch = pickle.load(questions)
            pickle.dump([work(job) for job in batch], replies)
            replies.flush()
    if jobs == 0:
        system.wait_for_children()
    os._exit(0)  # to free the tables takes time
