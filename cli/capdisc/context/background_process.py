"""How are processes started that build in the background, and how much may they take?

Nobody looks at such a process, and what it reads may come from a clone. So each has limits, and a
parent that waits for it and logs how it was ended, where `capdisc doctor` finds it: what is out of
memory or time is ended before it can say so itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

# With the same sys.path as here, which no variable and no current folder adds to.
_CODE = (
    "import os, sys; sys.path[:] = sys.argv.pop(1).split(os.pathsep); "
    "from capdisc.context import background_process; background_process.main()"
)
_NICENESS = 5
FAILURE = "the index could not be built"
# 100,000 skills take about 350 s and 1 GiB. At a terminal, `capdisc index` has no limits.
MAX_CPU_S = 30 * 60
MAX_MEMORY_SHARE, _MIN_MEMORY_BYTES = 0.5, 4 * 1024**3
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)  # noqa: PTH100
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-E", "-P", "-c", _CODE, path, module, *words],
        stdin=nowhere,
        stdout=nowhere,
        stderr=errors or nowhere,
        pass_fds=() if lock is None else (lock,),
        cwd=folder,
        start_new_session=True,
    )


def main() -> None:
    """Run `main()` of the module that the first word names in a child with limits, and exit with
    its status; where a signal ended it that nobody sent, log that.
    """
    from importlib import import_module

    module = sys.argv.pop(1)
    child = os.fork()
    if not child:
        _limit_resources()
        import_module(module).main()
        return

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in _STOP_SIGNALS:
        signal.signal(number, pass_on)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0 and -status not in _STOP_SIGNALS:
        _log_end(-status)
    sys.exit(status if status >= 0 else 128 - status)


def _limit_resources() -> None:
    import resource

    with suppress(OSError):
        os.nice(_NICENESS)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (
        (resource.RLIMIT_CPU, MAX_CPU_S),
        # Not RLIMIT_AS: with LanceDB, 1,500 skills take 2.5 GiB of addresses, 1.3 of them of the
        # sort that this limits, and 0.4 of memory. macOS counts less.
        (resource.RLIMIT_DATA, max(int(memory * MAX_MEMORY_SHARE), _MIN_MEMORY_BYTES)),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, limit in limits:
        soft, hard = resource.getrlimit(kind)
        allowed = [value for value in (limit, soft, hard) if value != resource.RLIM_INFINITY]
        resource.setrlimit(kind, (min(allowed), hard))


def _log_end(number: int) -> None:
    from capdisc.context import failure_log, surroundings
    from capdisc_indexer.model.errors import CapdiscError

    reason = f"{signal.Signals(number).name} ended it"
    if number == signal.SIGXCPU:
        reason = f"it took more than {MAX_CPU_S / 60:g} minutes of processor time"
    with suppress(CapdiscError, OSError):
        folder = surroundings.current_runtime().user_state_dir()
        failure_log.log_failure(folder, "", f"{FAILURE}: {reason}")
