"""The most memory that a command takes, measured from a process that is small itself.

What a child is started from counts as its own until it runs: from here that would be the whole of the test run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

_MEASURE = """
import json, os, subprocess, sys
os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
child = subprocess.Popen(json.loads(sys.argv[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
if os.waitstatus_to_exitcode(status) not in (0, 1):
    sys.exit(f"the command ended with status {status}")
print(usage.ru_maxrss)
"""


def peak_kib(words: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """Kibibytes that `capdisc` with these words holds at its largest, on one processor and so without workers."""
    command = [sys.executable, "-m", "capdisc", *words]
    surroundings = {**os.environ, **(env or {})}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, json.dumps(command)],
        env=surroundings, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)
