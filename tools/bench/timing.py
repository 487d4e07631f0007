"""Commands timed against each other: fresh processes in turn, A B C A B C, so that noise meets all of them alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PASS = [sys.executable, "-c", "pass"]


@dataclass(frozen=True, slots=True)
class Timed:
    """Wall seconds of each run of a command, what it printed last on stdout, and seconds of processor time."""

    seconds: tuple[float, ...]
    stdout: str = ""
    cpu: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Seconds that a quarter of the runs stayed below, and three quarters."""
        if len(self.seconds) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high

    @property
    def median_cpu(self) -> float:
        """Seconds of the processor, of the command and all that it waited for."""
        return statistics.median(self.cpu)


def surroundings(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of measured processes: Python keeps its compiled modules, whatever the shell says."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAPDISC_", "PYTHONDONT"))
    }
    return kept | dict(extra)


def in_turn(
    commands: Mapping[str, Sequence[str]], rounds: int, env: Mapping[str, str]
) -> dict[str, Timed]:
    """Each command `rounds` times, one after the other; a first round, which fills caches, does not count.

    Raises RuntimeError for a command that fails.
    """
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    last: dict[str, str] = {}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            before = _processor_s()
            taken, last[name] = _once(name, command, env)
            if turn:
                seconds[name].append(taken)
                cpu[name].append(_processor_s() - before)
    return {name: Timed(tuple(seconds[name]), last[name], tuple(cpu[name])) for name in commands}


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _once(name: str, command: Sequence[str], env: Mapping[str, str]) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    taken = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{name}: status {done.returncode}: {done.stderr[-500:]}")
    return taken, done.stdout
