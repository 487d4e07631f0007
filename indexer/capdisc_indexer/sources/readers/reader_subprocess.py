"""Runs a reader of files in a separate process, so that a file that crashes or stalls the reader
costs that file and nothing else.

SQLite, Arrow and readers of PDF are large programs, and the files come from strangers. The child
has limits on memory and time, gets the file's bytes or its path, and answers in JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.readers.yaml_nodes import Json

MAX_SECONDS = 30
MAX_BYTES = 3 * 1024 * 1024 * 1024  # of address space, most of which is never touched


class ReaderProcessError(Exception):
    """The reader ended without an answer; the message says how."""


def read_in_subprocess(
    module: str, request: Mapping[str, Json], data: bytes = b"", seconds: int = MAX_SECONDS
) -> JsonObject:
    """The answer of `read_request(request, data)` of this module.

    Raises ReaderProcessError if the process fails, or takes longer than `seconds`.
    """
    import subprocess

    head = json.dumps({"module": module, "request": dict(request), "seconds": seconds})
    command = [sys.executable, "-P", "-m", "capdisc_indexer.sources.readers.reader_subprocess"]
    try:
        process = subprocess.run(
            command,
            input=head.encode() + b"\n" + data,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ReaderProcessError(f"reading it took longer than {seconds} seconds") from None
    except OSError as error:
        raise ReaderProcessError(f"no process could be started: {error.strerror}") from error
    if process.returncode:
        raise ReaderProcessError(_describe_failure(process.returncode, process.stderr))
    try:
        answer: JsonObject = json.loads(process.stdout)
    except (ValueError, RecursionError) as error:
        raise ReaderProcessError("the reader gave no answer") from error
    return answer


def _describe_failure(return_code: int, stderr: bytes) -> str:
    if return_code < 0:
        return f"its reader was ended by signal {-return_code}"
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    last_line = lines[-1] if lines else f"its reader ended with {return_code}"
    if "MemoryError" in last_line:
        return "there is not enough memory to read it"
    return last_line[:200]


def main() -> None:
    """Read one request from standard input and write the answer to standard output."""
    from importlib import import_module

    head = json.loads(sys.stdin.buffer.readline())
    system.limit_process(int(head["seconds"]), address_bytes=MAX_BYTES)
    # Readers refuse deep structures; this is for those that forget to.
    sys.setrecursionlimit(2_000)
    module = import_module(head["module"])
    answer = module.read_request(head["request"], sys.stdin.buffer.read())
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
