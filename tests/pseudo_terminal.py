"""Runs a command on a terminal of a given size, and reads what it draws."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Screenful(NamedTuple):
    """What came out of the terminal, with its codes, and the exit code."""

    code: int
    text: str

    @property
    def plain(self) -> str:
        """The text without codes."""
        return _ESCAPES.sub("", self.text)

    @property
    def lines(self) -> list[str]:
        """The lines of the plain text."""
        return self.plain.splitlines()


# A program that prints nothing for so long waits for somebody, as a pager does.
SILENCE_SECONDS = 60


def run_on_terminal(
    argv: Sequence[str],
    folder: Path | str = ".",
    *,
    columns: int = 80,
    rows: int = 24,
    environ: Mapping[str, str] | None = None,
    program: Sequence[str] = (sys.executable, "-m", "capdisc"),
    keys: bytes = b"",
) -> Screenful:
    """Run the program with a terminal as stdin, stdout and stderr; `keys` are typed at once."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
    kept = {name: text for name, text in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [*program, *argv],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=kept | {"TERM": "xterm-256color", "PWD": str(folder), **(environ or {})},
        start_new_session=True,
    )
    os.close(theirs)
    if keys:
        os.write(ours, keys)
    output = bytearray()
    while True:
        if not select.select([ours], [], [], SILENCE_SECONDS)[0]:
            process.kill()
            raise TimeoutError(f"{argv} waits for keys: {output.decode('utf-8', 'replace')}")
        try:
            data = os.read(ours, 65536)
        except OSError:  # Linux says so at the end
            break
        if not data:
            break
        output += data
    os.close(ours)
    return Screenful(process.wait(), output.decode("utf-8", "replace").replace("\r\n", "\n"))
