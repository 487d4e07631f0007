"""Keeps the standard streams usable: open, free of reports of native libraries, and bounded when
they are read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from capdisc_indexer.model.errors import InputError

# The longest text read from stdin; no query, note or call is as long.
MAX_TEXT_BYTES = 1024 * 1024


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
