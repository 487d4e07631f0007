"""Which generation does a server answer from while others are published?"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from capdisc.context import open_index, surroundings
from capdisc.context.background_process import start_process
from capdisc.context.freshness import Freshness, IndexPlace
from capdisc.context.query_execution import build_tool_context
from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.lazy_imports import numpy
from capdisc_indexer.model.errors import CapdiscError, IndexStateError, OlderIndexError
from capdisc_indexer.plugins.registry import find_store
from capdisc_indexer.store.generation import read_pointer
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.tools.tool_types import ToolContext

# A first build of some hundred files takes seconds; no client waits for minutes.
_BUILD_WAIT_SECONDS = 20.0
_BUILD_POLL_SECONDS = 0.1
_MAX_ERROR_BYTES = 1024 * 1024


@dataclass(slots=True)
class OpenGeneration:
    """One generation, and how many calls answer from it now."""

    version: str
    ctx: open_index.CommandContext
    tool_ctx: ToolContext
    users: int = 0


class BackgroundBuild:
    """The server's first build, as by `capdisc index`, in a process that outlives the server."""

    def __init__(self, place: IndexPlace) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Start the build, unless it runs, and wait until it is done or has ended. Raises
        IndexStateError after _BUILD_WAIT_SECONDS, and where it has published nothing.
        """
        process, ends = self._start(), time.monotonic() + _BUILD_WAIT_SECONDS
        while not is_done():
            if process.poll() is not None:
                break
            if time.monotonic() > ends:
                raise IndexStateError("the index is being built", "ask again in a minute")
            time.sleep(_BUILD_POLL_SECONDS)
        if not is_done():
            raise IndexStateError(
                f"there is no index here, and building one failed: {self._read_error()}",
                "go on without; the user gets one at a terminal with: capdisc index PATH",
            )

    def _read_error(self) -> str:
        """Why the build has published nothing."""
        assert self._errors is not None
        self._errors.seek(0)
        lines = self._errors.read(_MAX_ERROR_BYTES).decode("utf-8", "replace").splitlines()
        errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
        return one_line(errors[-1], 300) if errors else "the build ended without a word"

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                # Not a pipe: nobody reads while the build goes on, also after the server's end.
                self._errors = tempfile.TemporaryFile()  # noqa: SIM115
                words = ["index", "--quiet", "--index-dir", str(self._place.index_dir)]
                folder = self._place.runtime.cwd
                self._process = start_process(
                    "capdisc.__main__", words, folder, errors=self._errors
                )
            return self._process


class LiveIndex:
    """The newest generation, opened for its first call; an older one stays open until the last
    call that answers from it ends. A call first updates the index with the few files that changed.
    `find_place` says before a call where the index lies now: a workspace that gets its first skill
    is answered from an index of its own from then on. None: where it lay at the start.
    `await_first` waits, before a first build, for another one that may be under way; its argument
    says whether the caller is gone. `is_named`: somebody named the index, which is left as it is.
    """

    def __init__(
        self,
        runtime: surroundings.Runtime,
        config: Config,
        place: IndexPlace,
        shared: SharedIndex | None,
        await_first: Callable[[Callable[[], bool]], None] = lambda _: None,
        find_place: Callable[[], IndexPlace] | None = None,
        is_named: bool = False,
    ) -> None:
        self._runtime, self._config, self._await_first = runtime, config, await_first
        self._place, self._index_dir, self._shared = place, place.index_dir, shared
        self._find_place, self._is_named = find_place, is_named
        self._lag = Freshness()
        self._lock = threading.Lock()
        self._newest: OpenGeneration | None = None
        self._build = BackgroundBuild(place)
        with suppress(IndexStateError):  # with numpy the same answers take half the time
            numpy()

    def version(self) -> str:
        """The name of what is published, which changes with every generation and place."""
        pointer = read_pointer(self._index_dir)
        return f"{self._index_dir}: {pointer}" if pointer else ""

    @contextmanager
    def open_newest(
        self, builds: bool = False, is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[OpenGeneration]:
        """The newest generation, open inside. Where none is published, `builds` makes one in the
        background and waits briefly. Raises IndexStateError where that is not enough.
        """
        self._follow_place(builds)
        if builds and not self.version():
            self._await_first(is_stopped)
        if builds and self._shared is None:
            version = self.version()
            if not version or self._is_older():
                self._build.wait(lambda: self.version() != version or is_stopped())
        with self._lock:
            current = self._load_newest()
            if self._index_changes(current):
                current = self._load_newest()
            current.users += 1
        try:
            yield current
        finally:
            with self._lock:
                current.users -= 1
                self._release(current)

    def _is_older(self) -> bool:
        """Whether nothing was read so far, and what is published is of an earlier version, which a
        command would build again, too.
        """
        is_fixed = self._is_named or self._config["fresh"] == "off"
        if self._newest is not None or is_fixed:
            return False
        with self._lock:
            try:
                self._load_newest()
            except OlderIndexError:
                return True
            except IndexStateError:
                return False
        return False

    def _follow_place(self, builds: bool) -> None:
        """Answer from the index of another place where that is now right, and exists or is built."""
        if self._find_place is None or self._config["fresh"] == "off":
            return
        try:
            place = self._find_place()
        except (CapdiscError, OSError):  # such as for settings that are being written
            return
        with self._lock:
            is_ready = builds or read_pointer(place.index_dir)
            if place.index_dir == self._index_dir or not is_ready:
                return
            console.print_notice(f"notice: answers come from {place.index_dir} from now on")
            self._place, self._index_dir, self._config = place, place.index_dir, place.config
            self._build = BackgroundBuild(place)
            previous, self._newest = self._newest, None
            if previous is not None:
                self._release(previous)

    def _index_changes(self, current: OpenGeneration) -> bool:
        """Bring the index up to date with a few files that changed. Returns whether that published
        a generation; what is not indexed is named on stderr, once.
        """
        mode: str = self._config["fresh"]
        if self._shared is not None or mode == "off":
            return False
        freshness = open_index.refresh_index(self._place, current.ctx.index, mode)
        if freshness != self._lag:
            open_index.describe_lag(self._place, freshness)
        self._lag = freshness
        return freshness.state == "updated"

    def _load_newest(self) -> OpenGeneration:
        version, previous = self.version(), self._newest
        if previous is not None and previous.version == version:
            return previous
        index = Index(self._index_dir, self._runtime.builder_id(self._index_dir, self._shared))
        place = IndexPlace(index_dir=self._index_dir, runtime=self._runtime, config=self._config)
        ctx = open_index.CommandContext(
            runtime=self._runtime, config=self._config, index=index, place=place
        )
        tool_ctx = build_tool_context(ctx, answers_many=True)
        self._newest = OpenGeneration(version=version, ctx=ctx, tool_ctx=tool_ctx)
        if previous is not None:
            self._release(previous)
        return self._newest

    def _release(self, generation: OpenGeneration) -> None:
        if generation is not self._newest and not generation.users:
            generation.ctx.index.close()


# A shared index is looked at again and again while a server answers from its copy.

MIN_POLL_SECONDS = 10.0


def start_polling(shared: SharedIndex) -> None:
    """Copy what is new in the store now, and then every `fresh_for_s` seconds (at least 10) from a
    thread, until the process ends.

    A problem is printed once, until it is another one; meanwhile calls answer from the last copy.
    """
    problem = _refresh_copy(shared, "")
    threading.Thread(target=_poll_forever, args=(shared, problem), daemon=True).start()


def _poll_forever(shared: SharedIndex, problem: str) -> None:
    while True:
        time.sleep(max(shared.fresh_for_s, MIN_POLL_SECONDS))
        problem = _refresh_copy(shared, problem)


def _refresh_copy(shared: SharedIndex, last_problem: str) -> str:
    try:
        problem = "; ".join(find_store(shared.url).refresh_copy(shared))
    except (CapdiscError, OSError) as error:
        problem = str(error)
    if problem and problem != last_problem:
        console.print_notice(f"notice: {problem}")
    return problem
