"""Work that waits for the disk or for a digest, done beside the rest: both leave Python to others meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Given = TypeVar("Given")


class Aside(Generic[Given]):
    """Starts at once; `result` waits for it. Where this user may have no more threads, it is done there and then."""

    def __init__(self, work: Callable[[], Given]) -> None:
        self._work = work
        self._given: list[Given] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._run()

    def result(self) -> Given:
        """What the work gave. Raises what the work raised."""
        if self._thread.ident is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._given[0]

    def _run(self) -> None:
        try:
            self._given.append(self._work())
        except BaseException as error:
            self._error = error
