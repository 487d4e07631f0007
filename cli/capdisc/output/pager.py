"""Is a result longer than the screen, and which program shows it then?

On a terminal, what the paged commands print is kept back until it fills the screen. From there on
a pager gets it; a shorter result is printed as it would have been. Notices before the first line
of a result, such as a progress bar, are printed at once; those after it stay behind it.
"""

from __future__ import annotations

import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from capdisc.output import console
from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    from subprocess import Popen

# `render` is never paged: what it prints is for an agent, however it is started.
PAGED_COMMANDS = frozenset(("search", "show", "list", "graph", "config", "audit"))
_HELP_WORDS = frozenset(("--help", "-h"))
# With these the result is for a program.
_PROGRAM_WORDS = frozenset(("--json", "--ids", "--paths", "--null", "-0", "--open"))
# As git does: quit where it fits, keep colours, leave the text on the screen.
_LESS_OPTIONS = "FRX"
_ESCAPES = re.compile(rb"\x1b\[[0-9;]*m")


def is_paged(words: Sequence[str]) -> bool:
    """Whether the result of this command line may go through a pager."""
    typed = set(words[: words.index("--")] if "--" in words else words)
    if not words or typed & _HELP_WORDS:
        return True
    return words[0] in PAGED_COMMANDS and not typed & _PROGRAM_WORDS


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """The words of the pager that CAPDISC_PAGER names; none without it. PAGER is what people have
    set for git: it asks for no pager here.
    """
    with suppress(ValueError):  # a quote that is not closed
        return system.split_words(environ.get("CAPDISC_PAGER", ""))
    return []


@contextmanager
def page_output(words: Sequence[str], environ: Mapping[str, str]) -> Iterator[None]:
    """Inside, what this command line prints on a terminal goes through the pager that
    CAPDISC_PAGER names where it is longer than the screen. Nothing changes on a terminal that
    obeys no codes.
    """
    pager = pager_command(environ)
    if not (pager and is_paged(words)) or environ.get("TERM") == "dumb":
        yield
        return
    size = shutil.get_terminal_size()
    output = PagedOutput(pager, environ, size.columns, size.lines)
    with console.divert_output(output.take):
        try:
            yield
        finally:
            output.finish()


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class PagedOutput:
    """What a command has printed, until it exceeds the screen; then the pager that gets it."""

    def __init__(
        self, pager: Sequence[str], environ: Mapping[str, str], columns: int, rows: int
    ) -> None:
        self._pager = pager
        self._environ = environ
        self._columns, self._rows = max(columns, 1), rows
        self._takes_stderr = _is_terminal(sys.stderr)
        self._has_pager = True
        self._pending: list[tuple[bytes, bool]] = []
        self._row_count = 0
        self._process: Popen[bytes] | None = None
        self._restore_interrupt: Callable[[], object] = bool

    def take(self, data: bytes, to_stderr: bool) -> bool:
        """Keep the data, or hand it to the pager; False where it is to be printed at once. Raises
        ReaderGoneError once the pager was left.
        """
        if not self._has_pager or (to_stderr and not self._takes_stderr):
            return False
        if self._process:
            self._write(data)
            return True
        if to_stderr and not self._pending:
            return False
        self._pending.append((data, to_stderr))
        self._row_count += self._count_rows(data)
        if self._row_count >= self._rows:  # the prompt takes a row
            self._start()
        return True

    def finish(self) -> None:
        """Print what is kept, or wait until the reader leaves the pager."""
        if self._process:
            with suppress(OSError):
                if self._process.stdin:
                    self._process.stdin.close()
            self._process.wait()
            self._restore_interrupt()
            return
        self._print_pending()

    def _print_pending(self) -> None:
        pending, self._pending = self._pending, []
        with console.divert_output(None):
            for data, to_stderr in pending:
                console.print_encoded(data, to_stderr)

    def _count_rows(self, data: bytes) -> int:
        """How many rows of the screen the lines take; a wide one is wrapped."""
        lines = _ESCAPES.sub(b"", data).decode("utf-8", "replace").splitlines()
        return sum(max(-(-len(line) // self._columns), 1) for line in lines)

    def _start(self) -> None:
        """Start the pager with what is kept. Where there is none, all is printed."""
        import subprocess

        environ = {"LESS": _LESS_OPTIONS, "LV": "-c", **self._environ}
        try:
            self._process = subprocess.Popen(self._pager, stdin=subprocess.PIPE, env=environ)
        except OSError as error:
            self._has_pager = False
            self._print_pending()
            reason = f"{self._pager[0]} cannot be started: {error.strerror}"
            console.print_notice(f"notice: the pager {reason}")
            return
        # An interrupt is the pager's: it ends its own search, and never the command.
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._restore_interrupt = lambda: signal.signal(signal.SIGINT, previous)
        pending, self._pending = self._pending, []
        for data, _ in pending:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except OSError as error:
            raise console.ReaderGoneError from error
