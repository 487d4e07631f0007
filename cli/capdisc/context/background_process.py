"""How are processes started that build in the background, and how much may they take?

Nobody looks at such a process, and what it reads may come from a clone. So each has limits, and a
parent that waits for it and logs how it was ended, where `capdisc doctor` finds it: what is out of
memory or time is ended before it can say so itself.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    import subprocess

    from capdisc_indexer.model.json_types import JsonObject

# With the same sys.path as here, which no variable and no current folder adds to.
_CODE = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); "
    "from capdisc.context import background_process; background_process.{}()"
)
FAILURE = "the index could not be built"
# 100,000 skills take about 350 s and 1 GiB. At a terminal, `capdisc index` has no limits.
MAX_CPU_S = 30 * 60
MAX_MEMORY_SHARE, _MIN_MEMORY_BYTES = 0.5, 4 * 1024**3
LOG_NAME = "hook-errors.jsonl"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S+00:00"
_LOCK_TIMEOUT_S = 0.05
_MAX_FAILURE_CHARACTERS = 500
_MAX_LOG_BYTES = 64 * 1024


def start_process(
    module: str,
    words: Sequence[str],
    folder: Path | None = None,
    lock: int | None = None,
    errors: IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `main()` of the module with these words in a process that outlives this one, and that
    keeps the file `lock` open. Raises OSError where none can be started.
    """
    import subprocess

    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        _make_command("main", [module, *words]),
        stdin=nowhere,
        stdout=nowhere,
        stderr=errors or nowhere,
        cwd=folder,
        **system.detached_options(lock),
    )


def _make_command(function: str, words: Sequence[str]) -> list[str]:
    """The command that calls a function of this module with these words."""
    path = os.pathsep.join(system.abspath(entry) for entry in sys.path if entry)
    return [sys.executable, "-E", "-P", "-c", _CODE.format(function), path, *words]


def main() -> None:
    """Run `main()` of the module that the first word names in a child with limits, and exit with
    its status; where a signal ended it that nobody sent, log that.
    """
    command = _make_command("run_module", sys.argv[1:])
    status = system.run_with_limits(
        run_module, command, MAX_CPU_S, MAX_MEMORY_SHARE, _MIN_MEMORY_BYTES
    )
    if status < 0 and -status not in system.STOP_SIGNALS:
        _log_end(-status)
    sys.exit(status if status >= 0 else 128 - status)


def run_module() -> None:
    """Run `main()` of the module that the first word names."""
    from importlib import import_module

    import_module(sys.argv.pop(1)).main()


def _log_end(number: int) -> None:
    from capdisc.context import surroundings
    from capdisc_indexer.model.errors import CapdiscError

    reason = system.describe_end(number, MAX_CPU_S)
    with suppress(CapdiscError, OSError):
        folder = surroundings.current_runtime().user_state_dir()
        log_failure(folder, "", f"{FAILURE}: {reason}")


# The log of hooks and background builds that failed, for `capdisc doctor`. It holds no prompts.


def log_failure(folder: Path, client: str, failure: str) -> None:
    """Add a failure to the log in this folder. Of a long log the older half is dropped.

    Raises CapdiscError where the log cannot be written.
    """
    import json

    from capdisc_indexer.store import state_file
    from capdisc_indexer.text.normalization import one_line

    record = {
        "at": time.strftime(TIME_FORMAT, time.gmtime()),
        "client": one_line(client, 40),
        "error": one_line(failure, _MAX_FAILURE_CHARACTERS),
    }
    path = folder / LOG_NAME
    with state_file.lock_folder(folder, _LOCK_TIMEOUT_S):
        lines = (state_file.read_state_file(path) or b"").splitlines(keepends=True)
        if sum(map(len, lines)) > _MAX_LOG_BYTES:
            lines = lines[len(lines) // 2 :]
        state_file.replace_state_file(path, b"".join(lines) + json.dumps(record).encode() + b"\n")


def read_failures(folder: Path) -> list[JsonObject]:
    """The failures in the log of this folder, oldest first, each with `at`, `client` and `error`;
    lines that are damaged are left out. Raises InputError where the log cannot be read.
    """
    from capdisc_indexer.config.settings_reader import parse_json
    from capdisc_indexer.store import state_file

    failures: list[JsonObject] = []
    for line in (state_file.read_state_file(folder / LOG_NAME) or b"").splitlines():
        try:
            record = parse_json(line)
        except ValueError:
            continue
        if isinstance(record, dict) and {"at", "client", "error"} <= record.keys():
            failures.append(record)
    return failures
