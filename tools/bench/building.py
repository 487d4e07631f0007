"""Building: from nothing, nothing to do, one file changed; whole processes, with the memory they took."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import large
from figure import Figure
from timing import PASS, in_turn, surroundings

from capdisc_indexer import encoders
from capdisc_indexer.store.snapshot import Index

# Seconds by catalogue size, and gibibytes.
_WHOLE_S = {10_000: 10.0, 100_000: 90.0}
_NOTHING_S, _ONE_S = {10_000: 1.0}, {10_000: 0.5}
_GIB = {100_000: 2.0}
_CHANGES = 5
_ROUNDS = 9
_SHORT = 10_000


class Place:
    """A catalogue and its index, in a folder of their own."""

    def __init__(self, folder: Path, size: int) -> None:
        self.size = size
        self.catalogue = folder / "catalogue"
        self.index = folder / "index"


def figures(place: Place) -> Iterator[Figure]:
    """Index the catalogue; the first figure is of the index that all others ask."""
    # The median of three where it does not take long.
    whole, memory = _median(
        place, 3 if place.size <= _SHORT else 1, lambda: shutil.rmtree(place.index, True)
    )
    yield _figure(place, "from nothing", whole, _WHOLE_S)
    yield Figure(
        group="build",
        name="memory",
        size=place.size,
        value=memory / 2**20,
        unit="MiB",
        most=_mebibytes(place.size),
    )
    size = sum(each.stat().st_size for each in place.index.rglob("*") if each.is_file())
    yield Figure(group="build", name="disk", size=place.size, value=size / 2**20, unit="MiB")
    with Index(place.index) as index:
        near = large.recall(index, encoders.load_encoder(), large.queries(index))
    yield Figure(
        group="build", name="recall@10 against float vectors", size=place.size, value=near, unit=""
    )
    yield _figure(place, "nothing changed", _median(place, 3, lambda: None)[0], _NOTHING_S)
    one = next(place.catalogue.rglob("SKILL.md"))
    yield _figure(
        place, "one file changed", _median(place, _CHANGES, lambda: _change(one))[0], _ONE_S
    )


def _figure(place: Place, name: str, seconds: float, most: dict[int, float]) -> Figure:
    ratio = round(seconds / _pass(), 1)
    return Figure(
        group="build",
        name=name,
        size=place.size,
        value=seconds,
        unit="s",
        ratio=ratio,
        most=most.get(place.size),
    )


def _pass() -> float:
    """Seconds that `python -c pass` takes now, right after what it is the measure of."""
    return in_turn({"pass": PASS}, _ROUNDS, surroundings({}))["pass"].median


def _mebibytes(size: int) -> float | None:
    return _GIB[size] * 1024 if size in _GIB else None


def _change(path: Path) -> None:
    path.write_text(f"{path.read_text(encoding='utf-8')}\nOne more line.\n", encoding="utf-8")


def _median(place: Place, count: int, prepare: Callable[[], object]) -> tuple[float, int]:
    """The median of the seconds, and the most bytes of memory."""
    taken = []
    for _ in range(count):
        prepare()
        taken.append(_indexed(place))
    return statistics.median(seconds for seconds, _ in taken), max(memory for _, memory in taken)


def _indexed(place: Place) -> tuple[float, int]:
    """Wall seconds and the most bytes of memory of one `capdisc index`."""
    command = [
        sys.executable,
        "-m",
        "capdisc",
        "index",
        str(place.catalogue),
        "--index-dir",
        str(place.index),
        "-q",
    ]
    started = time.perf_counter()
    with subprocess.Popen(
        command, env=surroundings({}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"capdisc index: status {child.returncode}")
    return time.perf_counter() - started, used.ru_maxrss * 1024
