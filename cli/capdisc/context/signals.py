"""Ends a command on SIGINT, SIGTERM and SIGHUP within two seconds, with exit codes 130, 143 and
129, also while native code runs.

Python runs a signal's handler between two of its own instructions, and the exception that the
handler raises unwinds the command: locks and temporary folders are released on the way out. A long
native call has no such instructions, and a library may swallow the exception. For both there is a
thread that waits a while and then ends the process.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from capdisc_indexer.platforms import system

_GRACE_SECONDS = 1.5


def _ignore_unraisable(report: object) -> None:
    pass


class StopSignal:
    """The signal that ends this command; `signal` is 0 until there is one. Made once, in the main
    thread, before anything heavy is imported.
    """

    def __init__(self) -> None:
        self.signal = 0
        for number in system.STOP_SIGNALS:
            # An ignored signal stays ignored: `nohup` and a shell's `&` arrange that.
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._on_signal)
        system.reset_sigchld()
        self._start_watchdog()

    @property
    def code(self) -> int:
        """The exit code of a command that this signal ends."""
        return 128 + self.signal

    def leave(self) -> None:
        """End the process at once: threads of native libraries could hold up an ordinary exit."""
        os._exit(self.code)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal:  # the second signal
            self.leave()
        self.signal = number
        # Python would report an exception that a library swallows on stderr; the exit code says
        # it.
        sys.unraisablehook = _ignore_unraisable
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _start_watchdog(self) -> None:
        """Start the thread that ends the process, which the interpreter does not wait for."""
        import _thread
        from contextlib import suppress

        reading = system.open_signal_pipe()
        if reading is not None:
            with suppress(RuntimeError):  # the user may have no more threads: the handlers must do
                _thread.start_new_thread(self._wait_for_signal, (reading,))

    def _wait_for_signal(self, reading: int) -> None:
        import time

        while number := os.read(reading, 1):
            if number[0] in system.STOP_SIGNALS:
                time.sleep(_GRACE_SECONDS)
                self.signal = self.signal or number[0]
                self.leave()
