"""What people wait for: commands of a plain installation over skills with whole bodies."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import skill_library
from figure import Figure
from plain_install import Install
from timing import Timed, in_turn, surroundings

QUERY = "put two PDF files into one"
_BUDGET = ["render", QUERY, "--budget", "1850"]
# The most that each may take as a multiple of `python -c pass`; up to 20,000 capabilities, and above.
_COLD: Mapping[str, tuple[Sequence[str], float, float]] = {
    "search": (["search", QUERY], 6.0, 6.5),
    "render --budget 1850": (_BUDGET, 7, 7.5),
    "render, markdown": ([*_BUDGET, "--format", "markdown"], 7, 7.5),
    "render, json": ([*_BUDGET, "--format", "json"], 9, 9.5),
    "render, xml": ([*_BUDGET, "--format", "xml"], 9, 9.5),
    "render, skills-xml": ([*_BUDGET, "--format", "skills-xml"], 9, 9.5),
    "--help": (["--help"], 4.5, 4.5),
    "--version": (["--version"], 1.5, 1.5),
}
_CHANGES = 3


def figures(
    install: Install, corpus: Path, folder: Path, size: int, rounds: int
) -> Iterator[Figure]:
    """A library of so many skills in the folder: built, changed, and asked."""
    library, index = folder / "library", folder / "index"
    material = skill_library.read_material(corpus)
    skill_library.write_library(library, islice(skill_library.generate_skills(material), size))
    # The LanceDB table would follow aside, and take a processor from what is measured next.
    env = surroundings({"CAPDISC_INDEX_DIR": str(index), "CAPDISC_TABLE": "off"})
    build = [install.capdisc, "index", str(library), "-q"]
    yield _built("from nothing", size, [_run(build, env)])
    yield _built("nothing changed", size, [_run(build, env) for _ in range(_CHANGES)])
    one = next(library.rglob("SKILL.md"))
    yield _built("one file changed", size, [_change(one, build, env) for _ in range(_CHANGES)])
    added = [one.parent.with_name(f"added-{number}") for number in range(_CHANGES)]
    yield _built("one file added", size, [_add(one, folder, build, env) for folder in added])
    yield _built("one file removed", size, [_remove(folder, build, env) for folder in added])
    time.sleep(2.5)  # until stamps of files are old enough to be trusted
    yield from _cold(install, one, size, rounds, env)


def _built(name: str, size: int, taken: Sequence[float]) -> Figure:
    timed = Timed(tuple(taken))
    low, high = timed.quartiles
    return Figure(
        group="build", name=name, size=size, value=timed.median, unit="s", low=low, high=high
    )


def _run(command: Sequence[str], env: Mapping[str, str]) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command[1]}: status {done.returncode}: {done.stderr[-500:]}")
    return time.perf_counter() - started


def _change(path: Path, build: Sequence[str], env: Mapping[str, str]) -> float:
    path.write_bytes(path.read_bytes() + b"\nOne more line.\n")
    return _run(build, env)


def _add(source: Path, folder: Path, build: Sequence[str], env: Mapping[str, str]) -> float:
    """A skill with the text of another one, and a name that no other one has."""
    folder.mkdir()
    text = source.read_text(encoding="utf-8")
    name = f"{folder.name}-{os.getpid()}"
    text = re.sub("^name: .*", f"name: {name}", f"{text}\n{name}\n", count=1, flags=re.MULTILINE)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return _run(build, env)


def _remove(folder: Path, build: Sequence[str], env: Mapping[str, str]) -> float:
    shutil.rmtree(folder)
    return _run(build, env)


def _cold(
    install: Install, one: Path, size: int, rounds: int, env: Mapping[str, str]
) -> Iterator[Figure]:
    """Fresh processes in turn."""
    asked = {**_COLD, "validate (one file)": (["validate", str(one)], 6, 6)}
    commands = {name: [install.capdisc, *words] for name, (words, *_) in asked.items()}
    taken = in_turn({"pass": [install.python, "-c", "pass"], **commands}, rounds, env)
    base = taken["pass"].median
    yield Figure(group="cold", name="python -c pass", size=size, value=1000 * base, ratio=1.0)
    for name, (_, small, large) in asked.items():
        yield _ratio("cold", name, size, taken[name], base, small if size <= 20_000 else large)


def _ratio(group: str, name: str, size: int, timed: Timed, base: float, most: float) -> Figure:
    low, high = timed.quartiles
    return Figure(
        group=group,
        name=name,
        size=size,
        value=1000 * timed.median,
        ratio=round(timed.median / base, 2),
        most=most,
        low=1000 * low,
        high=1000 * high,
    )
