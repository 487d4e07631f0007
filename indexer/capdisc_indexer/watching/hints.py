"""What the listening threads tell the waiting one: that something changed, and when. Nothing else passes."""

from __future__ import annotations

import threading
import time


class Hints:
    """A flag with two times. Setting it takes a microsecond, so that no queue of events grows behind it."""

    def __init__(self) -> None:
        self._flag = threading.Event()
        self._first = self._last = 0.0
        self.lost = False

    @property
    def pending(self) -> bool:
        """Whether something changed since `take`."""
        return self._flag.is_set()

    def changed(self) -> None:
        """Something changed just now."""
        self._last = time.monotonic()
        if not self._flag.is_set():
            self._first = self._last
            self._flag.set()

    def overflowed(self) -> None:
        """Something changed, and nobody can say where."""
        self.lost = True
        self.changed()

    def take(self) -> bool:
        """Start anew, before looking; whether events were lost until now."""
        lost, self.lost = self.lost, False
        self._flag.clear()
        return lost

    def due(self, quiet_s: float, patience_s: float) -> bool:
        """Whether the changes have come to rest, or have gone on for too long."""
        now = time.monotonic()
        return self.pending and (now - self._last >= quiet_s or now - self._first >= max(patience_s, quiet_s))

    def wait(self, seconds: float) -> None:
        """Wait for the first change; when there is one, just wait. Signals interrupt it."""
        if self.pending:
            time.sleep(seconds)
        else:
            self._flag.wait(seconds)
