"""SIGINT, SIGTERM and SIGHUP end a command within two seconds, with 130, 143 and 129, also while
native code runs.

Python runs a signal's handler between two of its own steps, and raises there what unwinds the
command: locks and temporary folders are let go on the way out. A native call that takes long has
no such steps, and a library may keep what was raised to itself; a thread that does nothing else
waits for that and ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE_SECONDS = 1.5


def _ignore_unraisable(report: object) -> None:
    pass


class StopSignal:
    """What ended this command, if a signal did. Made once, in the main thread, before anything
    heavy is imported.
    """

    def __init__(self) -> None:
        self.signal = 0
        for number in _SIGNALS:
            # One that is ignored stays so: that is what `nohup` and a shell's `&` arrange.
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._on_signal)
        # What a supervisor that ignores it leaves to us: the exit status of what we run would be
        # lost.
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._start_watchdog()

    @property
    def code(self) -> int:
        """The exit code of a command that ended so."""
        return 128 + self.signal

    def leave(self) -> None:
        """End without the ordinary way out, which threads of native libraries could hold up."""
        os._exit(self.code)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal:  # told twice
            self.leave()
        self.signal = number
        # A library that keeps what is raised to itself has it reported on stderr; the exit code
        # says it all.
        sys.unraisablehook = _ignore_unraisable
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _start_watchdog(self) -> None:
        """Watch over the endings, from a thread that the interpreter does not wait for."""
        import _thread
        from contextlib import suppress

        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        with suppress(RuntimeError):  # no more threads for this user: the handlers alone must do
            _thread.start_new_thread(self._wait_for_signal, (reading,))

    def _wait_for_signal(self, reading: int) -> None:
        import time

        while number := os.read(reading, 1):
            if number[0] in _SIGNALS:
                time.sleep(_GRACE_SECONDS)
                self.signal = self.signal or number[0]
                self.leave()
