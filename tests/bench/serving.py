"""The warm path: whole processes that a server answers, the server alone, and 64 clients at once."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from building import Place
from cold import PASS, QUERY
from figure import Figure
from timing import in_turn, surroundings

CLIENTS = 64
PAUSE_S = 1.0  # between a client's answer and its next question, on average: an agent thinks longer
_WORDS = "merge split pdf invoice chart image audio deploy docker review branch release notes email table query".split()


def figures(place: Place, rounds: int, seconds: float) -> Iterator[Figure]:
    """With a server for the catalogue's workspace."""
    (place.catalogue.parent / "capdisc.toml").touch()
    env = surroundings({"CAPDISC_INDEX_DIR": str(place.index), "XDG_RUNTIME_DIR": str(place.catalogue.parent)})
    large = place.size > 10_000
    with _served(place, env) as (address, server):
        yield from _whole(place, rounds, env, 4 if large else 2.5)
        alone = [_ask(address, place, _query(number)) for number in range(100)]
        inside = 1000 * statistics.median(alone[10:])
        yield Figure(group="warm", name="inside the server", size=place.size, value=inside, most=10 if large else 2)
        yield from _many(place, address, server, seconds, statistics.median(alone[10:]))


def _whole(place: Place, rounds: int, env: Mapping[str, str], most: float) -> Iterator[Figure]:
    script = Path(sys.executable).with_name("capdisc")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "capdisc"]
    asked = {"search": ["search", QUERY], "render --budget 1850": ["render", QUERY, "--budget", "1850"]}
    commands = {name: [*program, *words, "--server", "require"] for name, words in asked.items()}
    folder = Path.cwd()
    os.chdir(place.catalogue.parent)  # the workspace whose server is meant
    try:
        taken = in_turn({"pass": PASS} | commands, rounds, env)
    finally:
        os.chdir(folder)
    for name in commands:
        median = taken[name].median
        ratio = round(median / taken["pass"].median, 2)
        yield Figure(group="warm", name=name, size=place.size, value=1000 * median, ratio=ratio, most=most)


def _many(place: Place, address: str, server: int, seconds: float, alone: float) -> Iterator[Figure]:
    """Clients that each ask, wait, and ask again."""
    before, taken, errors = _memory(server), [], []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_client, args=(place, address, number, end, taken, errors)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ranked = sorted(taken)
    late = ranked[int(len(ranked) * 0.99)]
    yield Figure(group="many", name="64 clients: errors", size=place.size, value=len(errors), unit="", most=0)
    yield Figure(group="many", name="64 clients: answers", size=place.size, value=len(taken), unit="")
    yield Figure(group="many", name="64 clients: median", size=place.size, value=1000 * statistics.median(taken))
    yield Figure(group="many", name="64 clients: p99", size=place.size, value=1000 * late, most=20_000 * alone)
    grown = (_memory(server) - before) / 2**20
    yield Figure(group="many", name="64 clients: memory grown by", size=place.size, value=grown, unit="MiB")


def _client(place: Place, address: str, number: int, end: float, taken: list[float], errors: list[str]) -> None:
    chance = random.Random(number)
    time.sleep(chance.random() * PAUSE_S)
    while time.monotonic() < end:
        try:
            taken.append(_ask(address, place, _query(chance.randrange(10**6))))
        except Exception as error:  # what went wrong is a figure here
            errors.append(str(error))
        time.sleep(chance.random() * 2 * PAUSE_S)


def _query(number: int) -> str:
    return " ".join(random.Random(number).sample(_WORDS, 3))


def _ask(address: str, place: Place, query: str) -> float:
    """Seconds until the answer is there. Raises ValueError where it is none."""
    from capdisc.serve import exchange, frames, request

    parts = request.parts(["search", query, "--json", "--index-dir", str(place.index)])
    started = time.perf_counter()
    kind, *_ = exchange._exchanged(address, [*parts, request.UNREAD], 10.0)
    taken = time.perf_counter() - started
    if kind != frames.ANSWERED:
        raise ValueError(f"{kind!r}")
    return taken


@contextmanager
def _served(place: Place, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The address of a server that runs meanwhile, and its worker's process."""
    command: Sequence[str] = [sys.executable, "-m", "capdisc", "serve"]
    child = subprocess.Popen(command, env=env, cwd=place.catalogue.parent, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        address = child.stdout.readline().rpartition("answering at ")[2].strip()
        yield address, _worker(child.pid)
    finally:
        child.terminate()
        child.wait()


def _worker(server: int) -> int:
    children = Path(f"/proc/{server}/task/{server}/children")
    return int(children.read_text().split()[0]) if children.exists() else server


def _memory(process: int) -> int:
    """Bytes of memory that a process has now; 0 where the system does not tell."""
    path = Path(f"/proc/{process}/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else 0
