"""Other processes for the work on a large catalogue: reading and cutting texts is Python's own work, one core's worth.

A hand answers what it is asked through its pipes, and ends when they do: when the builder is killed, so are they.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from capdisc_indexer.aside import Aside

One = TypeVar("One")
Other = TypeVar("Other")

# Starting one takes half a second of its time, which is that of 200 files.
WORTH_WHILE = 1_000
# How seldom rings of values are looked for: a build makes many values, keeps them and makes no rings, and that search
# took a tenth of it.
SELDOM = (100_000, 50, 100)
_MOST = 8
_BATCH = 32
_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from capdisc_indexer import hands; hands.serve()"
# What a hand that was killed, or an answer that it could not send, ends in.
_GONE = (OSError, EOFError, ValueError, TypeError, AttributeError, pickle.PickleError)


class Hands:
    """As many as there are processors, from the first large work on; none where there is only one processor.

    From then on this process waits for answers most of the time: it does `meanwhile` in a thread.
    """

    def __init__(self, meanwhile: Callable[[], None] | None = None) -> None:
        self._children: list[subprocess.Popen[bytes]] = []
        self._meanwhile = meanwhile
        self._begun: Aside[None] | None = None

    def __enter__(self) -> Hands:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            child.kill()
            child.communicate()

    def settle(self) -> None:
        """Wait for what was begun meanwhile, if it was; raises what that raised."""
        if self._begun:
            self._begun.result()

    def map(
        self, work: Callable[[One], Other], items: Iterable[One], count: int, here: Callable[[One], Other] | None = None
    ) -> Iterator[Other]:
        """What `work`, a function of a module, gives for each of the `count` items, in their order. Little work, and
        that of a hand that fails, is done in this process, by `here` if that is given."""
        if count < WORTH_WHILE or not self._raised():
            return map(here or work, items)
        return self._shared(work, items, here or work)

    def _raised(self) -> bool:
        if not self._children and (count := _processors()) > 1 and sys.executable:
            with suppress(OSError):  # no more processes for this user: it takes longer
                for _ in range(min(count, _MOST)):
                    self._children.append(_started())
            if self._meanwhile and self._children:
                self._begun = Aside(self._meanwhile)
        return bool(self._children)

    def _shared(
        self, work: Callable[[One], Other], items: Iterable[One], here: Callable[[One], Other]
    ) -> Iterator[Other]:
        from concurrent.futures import Future, ThreadPoolExecutor
        from queue import SimpleQueue

        free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        for child in self._children:
            free.put(child)

        def ask(batch: Sequence[One]) -> list[Other]:
            child = free.get()
            try:
                return _asked(child, work, batch)
            except BaseException:
                child.kill()  # half an answer may be on its way, and the next question would wait behind it
                raise
            finally:
                free.put(child)

        def answered(batch: Sequence[One], answer: Future[list[Other]]) -> Iterable[Other]:
            try:
                return answer.result()
            except _GONE:
                return map(here, batch)

        each, waiting = iter(items), deque[tuple[list[One], Future[list[Other]]]]()
        with ThreadPoolExecutor(len(self._children)) as pool:
            while batch := list(islice(each, _BATCH)):
                waiting.append((batch, _submitted(pool, ask, batch)))
                if len(waiting) > 2 * len(self._children):
                    yield from answered(*waiting.popleft())
            while waiting:
                yield from answered(*waiting.popleft())


def _submitted(pool: Any, ask: Callable[[Sequence[One]], list[Other]], batch: Sequence[One]) -> Any:
    """The answer to come; where this user may have no more threads, one that says so."""
    try:
        return pool.submit(ask, batch)
    except RuntimeError as error:
        from concurrent.futures import Future

        refused: Future[list[Other]] = Future()
        refused.set_exception(OSError(str(error)))
        return refused


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-c", _START, json.dumps(sys.path)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing)


def _asked(child: subprocess.Popen[bytes], work: Callable[..., Any], batch: Sequence[Any]) -> list[Any]:
    assert child.stdin and child.stdout
    child.stdin.write(pickle.dumps((work, batch)))
    child.stdin.flush()
    answers: list[Any] = pickle.load(child.stdout)
    return answers


def serve() -> None:
    """Answer until the one who asks is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the builder ends its hands
    gc.set_threshold(*SELDOM)
    with os.fdopen(os.dup(1), "wb") as answers, suppress(*_GONE):
        os.dup2(2, 1)  # what a library prints is no answer
        while True:
            work, batch = pickle.load(sys.stdin.buffer)
            pickle.dump([work(each) for each in batch], answers)
            answers.flush()
