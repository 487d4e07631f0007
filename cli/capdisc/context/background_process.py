"""How are processes started that build in the background, and how much may they take?

Nobody looks at such a process, and what it reads may come from a clone. So each has limits, and a
parent that waits for it and logs how it was ended, where `capdisc doctor` finds it: what is out of
memory or time is ended before it can say so itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from capdisc_indexer.platforms import system

if TYPE_CHECKING:
    import subprocess

# With the same sys.path as here, which no variable and no current folder adds to.
_CODE = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); "
    "from capdisc.context import background_process; background_process.{}()"
)
FAILURE = "the index could not be built"
# 100,000 skills take about 350 s and 1 GiB. At a terminal, `capdisc index` has no limits.
MAX_CPU_S = 30 * 60
MAX_MEMORY_SHARE, _MIN_MEMORY_BYTES = 0.5, 4 * 1024**3


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
    from capdisc.context import failure_log, surroundings
    from capdisc_indexer.model.errors import CapdiscError

    reason = system.describe_end(number, MAX_CPU_S)
    with suppress(CapdiscError, OSError):
        folder = surroundings.current_runtime().user_state_dir()
        failure_log.log_failure(folder, "", f"{FAILURE}: {reason}")
