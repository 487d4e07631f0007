"""Work in a process of its own, so that a signal ends it alone."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any


def apart(work: Callable[..., Any], folder: Path, *given: object) -> Any:
    """What the work gives for a folder, made for it, and these values; a sentence when its process did not survive."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(work, folder, *given).result()
        except BrokenProcessPool:
            return f"the process of {work.__name__} was ended by a signal"
