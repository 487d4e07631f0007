"""One command line in this process, its words caught in a pipe's stead or on a pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import sys
import threading
import tty
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass

from capdisc.args import command_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one command gave. On a terminal, `out` holds both streams as they came."""

    label: str
    argv: tuple[str, ...]
    status: int
    out: str
    err: str
    on_terminal: bool


def say(label: str, argv: Sequence[str], on_terminal: bool = False) -> Said:
    """Runs the command line; stdin is empty."""
    sys.stdin = io.StringIO("")
    status, out, err = (_on_terminal if on_terminal else _caught)(list(argv))
    return Said(
        label=label,
        argv=tuple(argv),
        status=status,
        out=out.decode("utf-8", "surrogateescape"),
        err=err.decode("utf-8", "surrogateescape"),
        on_terminal=on_terminal,
    )


def _caught(argv: list[str]) -> tuple[int, bytes, bytes]:
    out, err = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in (out, err)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        status = command_table.run_command(argv)
    return status, out.getvalue(), err.getvalue()


def _on_terminal(argv: list[str]) -> tuple[int, bytes, bytes]:
    master, slave = pty.openpty()
    tty.setraw(slave)  # or every line end would get a carriage return of the terminal's own
    heard: list[bytes] = []
    listener = threading.Thread(target=_listen, args=(master, heard))
    listener.start()
    with ExitStack() as stack:
        stream = stack.enter_context(os.fdopen(slave, "w", encoding="utf-8"))
        stack.enter_context(redirect_stdout(stream))
        stack.enter_context(redirect_stderr(stream))
        status = command_table.run_command(argv)
    listener.join()
    os.close(master)
    return status, b"".join(heard), b""


def _listen(master: int, heard: list[bytes]) -> None:
    try:
        while data := os.read(master, 65_536):
            heard.append(data)
    except OSError:  # how Linux says that the other side is closed
        return
