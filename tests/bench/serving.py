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

from asking import encode_question, make_query, send_question
from building import Place
from cold import QUERY
from figure import Figure
from timing import PASS, in_turn, surroundings

CLIENTS = 64
PAUSE_S = (
    1.0  # between a client's answer and its next question, on average: an agent thinks longer
)


def figures(place: Place, rounds: int, seconds: float) -> Iterator[Figure]:
    """With a server for the catalogue's workspace."""
    (place.catalogue.parent / "capdisc.toml").touch()
    env = surroundings(
        {"CAPDISC_INDEX_DIR": str(place.index), "XDG_RUNTIME_DIR": str(place.catalogue.parent)}
    )
    large = place.size > 10_000
    with _served(place, env) as (address, server):
        yield from _whole(place, rounds, env, 4 if large else 2.5)
        alone = [_ask(address, place, make_query(number)) for number in range(100)]
        inside = 1000 * statistics.median(alone[10:])
        ratio = round(inside / 1000 / in_turn({"pass": PASS}, rounds, env)["pass"].median, 2)
        most = 10 if large else 2
        yield Figure(
            group="inside",
            name="inside the server",
            size=place.size,
            value=inside,
            ratio=ratio,
            most=most,
        )
        yield from _many(place, address, server, seconds, statistics.median(alone[10:]))


def _whole(place: Place, rounds: int, env: Mapping[str, str], most: float) -> Iterator[Figure]:
    script = Path(sys.executable).with_name("capdisc")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "capdisc"]
    asked = {
        "search": ["search", QUERY],
        "render --budget 1850": ["render", QUERY, "--budget", "1850"],
    }
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
        yield Figure(
            group="warm", name=name, size=place.size, value=1000 * median, ratio=ratio, most=most
        )


def _many(
    place: Place, address: str, server: int, seconds: float, alone: float
) -> Iterator[Figure]:
    """Clients that each ask, wait, and ask again; then the same for a while without waiting."""
    before = _memory(server)
    taken, errors = _crowd(place, address, seconds, PAUSE_S)
    size, late = place.size, sorted(taken)[int(len(taken) * 0.99)]
    most = round(20_000 * alone, 1)
    yield Figure(
        group="many",
        name="64 clients, a question a second: errors",
        size=size,
        value=len(errors),
        unit="",
        most=0,
    )
    yield Figure(group="many", name="  answers", size=size, value=len(taken), unit="")
    yield Figure(group="many", name="  median", size=size, value=1000 * statistics.median(taken))
    yield Figure(group="many", name="  p99", size=size, value=1000 * late, most=most)
    taken, errors = _crowd(place, address, seconds / 4, 0.0)
    late = sorted(taken)[int(len(taken) * 0.99)]
    yield Figure(
        group="many",
        name="64 clients without pause: errors",
        size=size,
        value=len(errors),
        unit="",
    )
    yield Figure(
        group="many",
        name="  answers a second",
        size=size,
        value=4 * len(taken) / seconds,
        unit="/s",
    )
    yield Figure(group="many", name="  p99", size=size, value=1000 * late, most=most)
    grown = (_memory(server) - before) / 2**20
    yield Figure(
        group="many", name="memory of the server grown by", size=size, value=grown, unit="MiB"
    )


def _crowd(
    place: Place, address: str, seconds: float, pause_s: float
) -> tuple[list[float], list[str]]:
    """How long each answer took, and what went wrong."""
    taken: list[float] = []
    errors: list[str] = []
    end = time.monotonic() + seconds
    given = (place, address, end, pause_s, taken, errors)
    threads = [
        threading.Thread(target=_client, args=(number, *given)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken, errors


def _client(
    number: int,
    place: Place,
    address: str,
    end: float,
    pause_s: float,
    taken: list[float],
    errors: list[str],
) -> None:
    chance = random.Random(number)
    time.sleep(chance.random() * pause_s)
    while time.monotonic() < end:
        try:
            taken.append(_ask(address, place, make_query(chance.randrange(10**6))))
        except Exception as error:  # what went wrong is a figure here
            errors.append(str(error))
        time.sleep(chance.random() * 2 * pause_s)


def _ask(address: str, place: Place, query: str) -> float:
    """Seconds until the answer is there. Raises ValueError where it is none."""
    message = encode_question(["search", query, "--json", "--index-dir", str(place.index)])
    started = time.perf_counter()
    send_question(address, message)
    return time.perf_counter() - started


@contextmanager
def _served(place: Place, env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The address of a server that runs meanwhile, and its worker's process."""
    command: Sequence[str] = [
        sys.executable,
        "-m",
        "capdisc",
        "serve",
        "--workers",
        str(os.cpu_count() or 1),
    ]
    child = subprocess.Popen(
        command, env=env, cwd=place.catalogue.parent, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        address = child.stdout.readline().rpartition("answering at ")[2].strip()
        yield address, child.pid
    finally:
        child.terminate()
        child.wait()


def _memory(server: int) -> int:
    """Bytes of memory that a server and its workers have now; 0 where the system does not tell."""
    children = Path(f"/proc/{server}/task/{server}/children")
    if not children.exists():
        return 0
    # A worker that was started from another thread is that thread's child.
    of_all = [each.read_text().split() for each in Path(f"/proc/{server}/task").glob("*/children")]
    workers = [Path(f"/proc/{one}/statm") for each in of_all for one in each]
    pages = [int(path.read_text().split()[1]) for path in workers if path.exists()]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")
