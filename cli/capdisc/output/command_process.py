"""The process of a command: its streams, questions to a person, signals and exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType

from capdisc_indexer.model.errors import InputError
from capdisc_indexer.platforms import system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from capdisc.context.surroundings import Runtime

YES = ("y", "yes")
# The longest text read from stdin; no query, note or call is as long.
MAX_TEXT_BYTES = 1024 * 1024
# How long a command that a signal ends may take to clean up.
_GRACE_SECONDS = 1.5


class ExitCode(IntEnum):
    """What the exit status of a command says. Scripts rely on the numbers."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    BAD_INPUT = 3
    INDEX = 4
    REFUSED = 5
    BUG = 70
    BUSY = 75
    ENDED = 124
    INTERRUPTED = 130


def reopen_closed() -> None:
    """Open the streams that were closed when the process started: else the next file that is
    opened, one of the index, would be stdout.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def flush_outputs() -> None:
    """Write what is still buffered; where the reader is gone, it is dropped."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.flush()


@contextmanager
def silence_native_stderr() -> Iterator[None]:
    """Inside, only Python can print on stderr: reports of native libraries on their panics are
    dropped, since the caller of the library prints an error. A program that is started inside has
    to get `sys.stderr` as its stderr.
    """
    ours = sys.__stderr__
    if ours is None or ours is not sys.stderr:  # closed, or a test's
        yield
        return
    ours.flush()
    saved_fd, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.stderr = open(saved_fd, "w", encoding=ours.encoding, errors=ours.errors, closefd=False)  # noqa: SIM115
    try:
        yield
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        sys.stderr = ours
        os.dup2(saved_fd, 2)
        os.close(saved_fd)


def read_stdin_text(limit_bytes: int = MAX_TEXT_BYTES, hint: str = "pass on a part of it") -> str:
    """All of stdin; "" where it is closed. Bytes that are not UTF-8 are replaced. Raises
    InputError with `hint` for more than `limit_bytes`; no more is ever read.
    """
    data = read_stdin_bytes(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise InputError(f"stdin has more than {limit_bytes // 1024:,} KiB", hint)
    return data.decode("utf-8", "replace")


def read_stdin_bytes(limit_bytes: int) -> bytes:
    """The bytes of stdin, at most `limit_bytes` of them."""
    if sys.stdin is None:
        return b""
    buffer = getattr(sys.stdin, "buffer", None)
    return (
        buffer.read(limit_bytes)
        if buffer
        else sys.stdin.read(limit_bytes).encode("utf-8", "replace")[:limit_bytes]
    )


def has_person(runtime: Runtime) -> bool:
    """Whether somebody is there to answer a question."""
    return runtime.stdin_is_terminal and runtime.stderr_is_terminal


def read_answer(question: str) -> str:
    """The answer to a question at the terminal, in lower case. What was typed before the question
    was printed does not count.
    """
    from capdisc.output import console  # which this module does not need before signals are heard

    console.print_question(question)
    with suppress(OSError, ValueError):  # no terminal, or closed
        system.discard_typed_text(sys.stdin.fileno())
    return sys.stdin.readline().strip().lower()


class StopSignal:
    """The signal that ends this command, SIGINT, SIGTERM or SIGHUP; `signal` is 0 until there is
    one. Made once, in the main thread, before anything heavy is imported.

    Python runs a signal's handler between two of its own instructions, and the exception that the
    handler raises unwinds the command: locks and temporary folders are released on the way out. A
    long native call has no such instructions, and a library may swallow the exception. For both
    there is a thread that waits a while and then ends the process.
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
        # Python would report an exception that a library swallows; the exit code says it.
        sys.unraisablehook = _ignore_unraisable
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def _start_watchdog(self) -> None:
        """Start the thread that ends the process, which the interpreter does not wait for."""
        import _thread

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


def _ignore_unraisable(report: object) -> None:
    pass
