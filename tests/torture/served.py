"""A `capdisc serve` in a process of its own, and what is sent to it byte by byte."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from capdisc.serve import protocol

# A limit for tests, not a promise: machines that run tests are slow at times.
PATIENCE_S = 60.0


def until(holds: Callable[[], object], seconds: float = PATIENCE_S) -> bool:
    """Whether it held within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return bool(holds())


class Served:
    """The process, ready to answer: without words a server of one worker, which a test can name.
    `environ` is what it and its clients see.
    """

    def __init__(
        self, *words: str, cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.environ = dict(environ or os.environ)
        command = [sys.executable, "-m", "capdisc", *(words or ("serve", "--workers", "1"))]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command,
            stdout=self._said,
            stderr=self._said,
            stdin=subprocess.DEVNULL,
            env=self.environ,
            cwd=cwd,
        )
        self.path = Path(protocol.socket_path(self.environ))

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end(signal.SIGKILL)
        self._said.close()
        for worker in self.workers():
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)  # one that was stopped cannot notice
        assert until(lambda: not self.workers())

    @property
    def text(self) -> str:
        """All that it has printed."""
        return os.pread(self._said.fileno(), 1_000_000, 0).decode()

    def ready(self) -> Served:
        """Itself, once it answers."""
        assert until(lambda: self.answers() or self.process.poll() is not None)
        assert self.process.poll() is None, self.text
        return self

    def answers(self) -> bool:
        """Whether somebody is there who would answer."""
        if self.path.with_suffix(".port").exists():
            return True
        with socket.socket(socket.AF_UNIX) as one:
            return one.connect_ex(str(self.path)) == 0

    def workers(self) -> list[int]:
        """The processes that answer; one, or none for a moment."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
                ours = os.fsencode(self.path.parent.parent) in (folder / "environ").read_bytes()
                alive = (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            except OSError:
                continue
            if b"worker.main()" in command and ours and alive:
                found.append(int(folder.name))
        return found

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def connected(self) -> socket.socket:
        """A connection of one's own."""
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE_S)
        made.connect(str(self.path))
        return made

    def said(self, data: bytes) -> bytes:
        """What comes back for these bytes, until the server closes."""
        with self.connected() as one:
            try:
                one.sendall(data)
                if _is_cut(data):
                    one.shutdown(socket.SHUT_WR)  # else it would wait for the rest
            except OSError:
                pass  # it has closed already
            return received(one)

    def asked(self, *words: str, stdin: bytes | None = b"") -> list[bytes]:
        """The parts of the answer to a command line of this process."""
        with self.connected() as one:
            one.sendall(message(words, stdin))
            return protocol.decode_parts(received(one).removeprefix(protocol.QUEUED))


def _is_cut(data: bytes) -> bool:
    try:
        return protocol.missing_bytes(data, protocol.MAX_REQUEST) > 0
    except ValueError:
        return False


def message(words: Sequence[str], stdin: bytes | None = b"") -> bytes:
    """The request that a client in this process would send."""
    return protocol.encode_parts(
        [
            *protocol.encode_request(words),
            protocol.UNREAD if stdin is None else protocol.READ + stdin,
        ]
    )


def received(one: socket.socket) -> bytes:
    """All that comes."""
    data = b""
    while True:
        try:
            more = one.recv(1 << 16)
        except ConnectionError:
            return data
        if not more:
            return data
        data += more
