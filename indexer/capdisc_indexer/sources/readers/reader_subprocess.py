"""Readers that run in a process of their own: whatever a file does to one of them costs that file
and nothing else.

SQLite, Arrow and readers of PDF are large programs, and files are written by strangers. The child
may use a limited amount of memory and time, gets the file's bytes or its path, and answers in
JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.sources.readers.yaml_nodes import Json

MAX_SECONDS = 30
MAX_BYTES = 3 * 1024 * 1024 * 1024  # of address space, most of which is never touched


class ReaderProcessError(Exception):
    """The reader ended without an answer; the message says how."""


def read_in_subprocess(
    module: str, request: Mapping[str, Json], data: bytes = b"", seconds: int = MAX_SECONDS
) -> Any:
    """What `read_request(request, data)` of a module beside this one gives. Raises ApartError when
    it does not.
    """
    import subprocess

    head = (
        json.dumps({"module": module, "request": dict(request), "seconds": seconds}).encode()
        + b"\n"
    )
    command = [sys.executable, "-P", "-m", "capdisc_indexer.sources.readers.reader_subprocess"]
    try:
        done = subprocess.run(
            command, input=head + data, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise ReaderProcessError(f"reading it took longer than {seconds} seconds") from None
    except OSError as error:
        raise ReaderProcessError(f"no process could be started: {error.strerror}") from error
    if done.returncode:
        raise ReaderProcessError(_reason(done.returncode, done.stderr))
    try:
        return json.loads(done.stdout)
    except (ValueError, RecursionError) as error:
        raise ReaderProcessError("the reader gave no answer") from error


def _reason(code: int, stderr: bytes) -> str:
    if code < 0:
        return f"its reader was ended by signal {-code}"
    last_lines = stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [
        f"its reader ended with {code}"
    ]
    return (
        "there is not enough memory to read it"
        if "MemoryError" in last_lines[0]
        else last_lines[0][:200]
    )


def main() -> None:
    """Read one request from standard input and write the answer to standard output."""
    from importlib import import_module

    head = json.loads(sys.stdin.buffer.readline())
    _limit(int(head["seconds"]))
    module = import_module(f"capdisc_indexer.sources.formats.{head['module']}")
    answer = module.read_request(head["request"], sys.stdin.buffer.read())
    sys.stdout.buffer.write(json.dumps(answer).encode())


def _limit(seconds: int) -> None:
    import resource

    limits = (
        (resource.RLIMIT_AS, MAX_BYTES),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    )
    for what, maximum in limits:
        _, hard = resource.getrlimit(what)
        limit = maximum if hard == resource.RLIM_INFINITY else min(maximum, hard)
        resource.setrlimit(what, (limit, hard))
    # Deep structures are refused by what reads them; this is for those that forget to.
    sys.setrecursionlimit(2_000)


if __name__ == "__main__":
    main()
