"""Watching step by step: `next(turns)` waits for the next set of changes, with a limit."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from capdisc_indexer.model.types import BuildOptions
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.watching import WatchOptions, WatchUpdate, watch

# Ways of saving, and a watch to talk to.
sys.path.append(str(Path(__file__).resolve().parents[2] / "tools" / "torture"))


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """A wait that never ends fails, except on Windows, which has no alarm."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def fail(*_: object) -> None:
        raise AssertionError("nothing was told for a minute")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def root(hermetic, write_skill) -> Path:
    write_skill(hermetic / "skills", "alpha")
    return hermetic / "skills"


@pytest.fixture
def index_dir(hermetic) -> Path:
    return hermetic / "index"


@pytest.fixture
def watching(index_dir) -> Iterator[Callable[..., Iterator[WatchUpdate]]]:
    """Start watching: `watching(root, other, interval_s=0.5)`."""
    with ExitStack() as stack:

        def start(
            *roots: Path, build: BuildOptions | None = None, **options: object
        ) -> Iterator[WatchUpdate]:
            pace = WatchOptions(**{"quiet_s": 0.15, **options})
            return stack.enter_context(
                closing(watch(roots, index_dir, build or BuildOptions(), pace))
            )

        yield start


@pytest.fixture
def described(index_dir) -> Callable[[], dict[str, str]]:
    """What the index says now: each id with its description."""

    def read() -> dict[str, str]:
        with Index(index_dir) as index:
            return {
                head["id"]: index.full_descriptor(head).description
                for head in index.documents.all_headers()
            }

    return read
