"""How much memory and time whole commands take over a large library of skills.

python tests/bench/memory.py --corpus ../shared/corpora/skills --size 80000
python tests/bench/memory.py --library /tmp/library --index /tmp/index --capdisc /other/bin/capdisc --skip-validate

Commands take turns with a cold search, the measure of their time. `peak` is the largest single process, as
`/usr/bin/time -v` tells it; `together` adds up what a command and its workers hold at one moment, where /proc tells it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import skill_library
from timing import surroundings

_MOST_MIB = 400
_MOST_SEARCHES = 3
_QUERY = "put two PDF files into one"
_COMMANDS: Mapping[str, Sequence[str]] = {
    "search": ("search", _QUERY),
    "render, skills-xml, 4,000 tokens": ("render", "--format", "skills-xml", "--budget", "4000"),
    "render, a query": ("render", _QUERY, "--budget", "1850"),
    "render, a query, one kind": ("render", _QUERY, "--kind", "skill", "--budget", "1850"),
    "list": ("list",),
    "list --json": ("list", "--json"),
    "list --cost": ("list", "--cost"),
}
# What prints a line for each capability cannot be as quick as what prints ten.
_PRINTS_ALL = ("list", "list --json", "list --cost")


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command: wall seconds, mebibytes of its largest process and of all at once, bytes on stdout, and
    seconds of processor time of all its processes."""

    seconds: float
    peak_mib: float
    together_mib: float
    printed: int
    cpu_s: float


def measure(command: Sequence[str], env: Mapping[str, str]) -> Run:
    """Run it, its output into a file. Raises RuntimeError for a status that means more than "something was found"."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        child = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL
        )
        samples = [0.0]
        done = threading.Event()
        sampler = threading.Thread(target=_sample, args=(child.pid, samples, done))
        sampler.start()
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        done.set()
        sampler.join()
        if child.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)}: status {child.returncode}")
        printed = output.seek(0, os.SEEK_END)
        cpu_s = used.ru_utime + used.ru_stime
        return Run(seconds, used.ru_maxrss / 1024, max(samples), printed, cpu_s)


def _sample(pid: int, samples: list[float], done: threading.Event) -> None:
    """Adds what the process and those it started hold, in MiB, every 50 ms."""
    while not done.wait(0.05):
        samples.append(sum(map(_resident_mib, [pid, *_children(pid)])))


def _children(pid: int) -> list[int]:
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(child) for child in own] + [
            inner for child in own for inner in _children(int(child))
        ]
    except OSError:
        return []


def _resident_mib(pid: int) -> float:
    try:
        return (
            int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            * os.sysconf("SC_PAGE_SIZE")
            / 2**20
        )
    except (OSError, IndexError):
        return 0.0


def main(argv: Sequence[str]) -> int:
    """Print the table; 1 where a command takes more than it may."""
    options = _parser().parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="capdisc-memory-") as folder:
        library = options.library or _library(options.corpus, options.size, Path(folder))
        index = options.index or Path(folder) / "index"
        env = surroundings({"CAPDISC_INDEX_DIR": str(index), "HOME": folder})
        print(
            f"{'':36} {'seconds':>8} {'searches':>8} {'peak':>8} {'together':>8} {'printed':>12}"
        )
        good = True
        if not options.skip_validate:
            command = [options.capdisc, "validate", str(library), "--format", "json-lines"]
            good = _print_row("validate", [measure(command, env)], None)
        if not options.index:
            _print_row(
                "index", [measure([options.capdisc, "index", str(library), "-q"], env)], None
            )
        runs: dict[str, list[Run]] = {name: [] for name in _COMMANDS}
        for _ in range(options.rounds):
            for name, words in _COMMANDS.items():
                runs[name].append(measure([options.capdisc, *words], env))
        search = statistics.median(run.seconds for run in runs["search"])
        rows = [_print_row(name, taken, search) for name, taken in runs.items()]
    return 0 if good and all(rows) else 1


def _print_row(name: str, runs: Sequence[Run], search_seconds: float | None) -> bool:
    """One row of medians and greatest peaks; whether the command keeps within its limits."""
    seconds = statistics.median(run.seconds for run in runs)
    peak, together = max(run.peak_mib for run in runs), max(run.together_mib for run in runs)
    ratio = seconds / search_seconds if search_seconds else 0.0
    shown = f"{ratio:8.1f}" if search_seconds else " " * 8
    print(
        f"{name:36} {seconds:8.2f} {shown} {peak:8.0f} {together:8.0f} {runs[-1].printed:12,}",
        flush=True,
    )
    is_slow = bool(ratio > _MOST_SEARCHES and name not in _PRINTS_ALL)
    return (peak <= _MOST_MIB or name == "index") and not is_slow


def _library(corpus: Path, size: int, folder: Path) -> Path:
    given = corpus if corpus.is_dir() else skill_library.FIXTURES
    skills = skill_library.generate_skills(skill_library.read_material(given))
    skill_library.write_library(folder / "library", islice(skills, size))
    return folder / "library"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus", type=Path, default=skill_library.FIXTURES, help="SKILL.md files to recombine"
    )
    parser.add_argument("--size", type=int, default=2_000)
    parser.add_argument("--library", type=Path, help="a folder of skills that is there already")
    parser.add_argument("--index", type=Path, help="an index of it that is there already")
    parser.add_argument(
        "--capdisc", default=str(Path(sys.executable).with_name("capdisc")), help="the program"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-validate", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
