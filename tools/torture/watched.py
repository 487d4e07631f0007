"""A `capdisc watch` in a process of its own, and whether its index is what a build from scratch gives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index

# A limit for tests, not a promise: machines that run tests are slow at times.
PATIENCE_S = 60.0


class Watched:
    """The process, with what it has said so far."""

    def __init__(self, *words: str | Path, prefix: Sequence[str] = ()) -> None:
        command = [*prefix, sys.executable, "-m", "capdisc", "watch", "--json", *map(str, words)]
        self.turns: list[dict[str, Any]] = []
        self._err = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._err, stdin=subprocess.DEVNULL
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Watched:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, by SIGKILL when nobody else did."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reading.join()
        assert self.process.stdout
        self.process.stdout.close()
        self._err.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.turns.append(json.loads(line))

    @property
    def err(self) -> str:
        """All of its stderr."""
        # The process writes through the same open file: seeking here would move where it writes.
        return os.pread(self._err.fileno(), 1_000_000, 0).decode()

    @property
    def notices(self) -> str:
        """All of its notices, a line each."""
        return "\n".join(text for turn in list(self.turns) for text in turn["notices"])

    @property
    def published(self) -> list[int]:
        """The generations that it published."""
        return [turn["generation"] for turn in list(self.turns) if turn["published"]]

    def ready(self) -> Watched:
        """Itself, once the first build is done."""
        assert until(lambda: any(turn["generation"] for turn in list(self.turns))), self.err
        return self

    def stop(self, number: int = signal.SIGINT) -> int:
        """Its exit status after this signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


def until(met: Callable[[], object], limit_s: float = PATIENCE_S) -> bool:
    """Whether the condition was met within the limit."""
    deadline = time.monotonic() + limit_s
    while not met():
        if time.monotonic() >= deadline:
            return bool(met())
        time.sleep(0.05)
    return True


def content(index_dir: Path) -> list[Any]:
    """Every record with its capability in full; nothing when there is no index."""
    try:
        with Index(index_dir) as index:
            return [(head, index.full_descriptor(head)) for head in index.documents.all_headers()]
    except IndexStateError:
        return []


def ids(index_dir: Path) -> list[str]:
    """The ids of the index."""
    return [head["id"] for head, _ in content(index_dir)]


def scratch(roots: Sequence[Path], work: Path) -> list[Any]:
    """The content of an index of these folders that is built from scratch."""
    index_dir = work / "scratch"
    shutil.rmtree(index_dir, ignore_errors=True)
    build_index(roots, index_dir, BuildOptions())
    return content(index_dir)
