"""A folder of links for the text engine to open."""

# Plain text paths, since this is part of every cold query.
# ruff: noqa: PTH102, PTH106, PTH108, PTH211

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_USUAL = "/tmp"  # asking tempfile where else costs 5 ms of imports, half of what a bare interpreter takes


@contextmanager
def linked(source: Path) -> Iterator[Path]:
    """A folder of links to the files of `source`, locks left out; `source` itself where none can be made.

    tantivy opens a lock file for writing and waits without limit for whoever holds it. In a folder of its own a reader
    waits for nobody, and writes nothing beside the index. It is needed only while the files are opened: 0.5 ms.
    """
    try:
        folder = _made()
    except OSError:
        yield source
        return
    try:
        try:
            _link(os.path.realpath(source), folder)
        except OSError:
            yield source
        else:
            yield Path(folder)
    finally:
        _remove(folder)


def _made() -> str:
    """A new folder that only its owner may enter."""
    folder = f"{_USUAL}/capdisc-{os.getpid()}-{time.monotonic_ns()}"
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        import tempfile

        return tempfile.mkdtemp(prefix="capdisc-")
    return folder


def _link(source: str, folder: str) -> None:
    for name in os.listdir(source):
        if not name.endswith(".lock"):
            os.symlink(f"{source}/{name}", f"{folder}/{name}")


def _remove(folder: str) -> None:
    # A thread of the engine may make its lock file once more between the last unlink and the rmdir.
    for _ in range(10):
        with suppress(OSError):
            for name in os.listdir(folder):
                os.unlink(f"{folder}/{name}")
            os.rmdir(folder)
            return
