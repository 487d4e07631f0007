"""What a server takes: processor time inside for each question, and memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from asking import encode_question, make_query, send_question
from figure import Figure

_QUESTIONS = 60
_WARM_UP = 20
_WATCH_S = 5.0  # until the folders are watched


def served_figures(
    capdisc: str, folder: Path, index: Path, size: int, env: Mapping[str, str]
) -> Iterator[Figure]:
    """A server for the folder's index, asked different things by one client at a time."""
    child = subprocess.Popen(
        [capdisc, "serve", "--workers", "1"],
        env=dict(env) | {"CAPDISC_SERVER": "require"},
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        address = child.stdout.readline().rpartition("answering at ")[2].strip()
        where = ["--index-dir", str(index)]
        for number in range(_WARM_UP):
            _ask(address, env, ["search", make_query(number), "--json", *where])
        time.sleep(_WATCH_S)
        for name, words in (("search", ["--json"]), ("render", ["--budget", "1850"])):
            before = _processor_s(child.pid)
            for number in range(_QUESTIONS):
                _ask(address, env, [name, make_query(_WARM_UP + number), *words, *where])
            value = round(1000 * (_processor_s(child.pid) - before) / _QUESTIONS, 2)
            yield Figure(group="warm", name=f"{name}, inside the server", size=size, value=value)
        yield Figure(
            group="peak",
            name="server, one worker",
            size=size,
            value=round(sum(_resident(pid) for pid in _family(child.pid)) / 2**20, 1),
            unit="MiB",
        )
    finally:
        child.terminate()
        child.wait()


def _ask(address: str, env: Mapping[str, str], words: Sequence[str]) -> None:
    """Raises ValueError where the answer is none."""
    send_question(address, encode_question(words, env))


def _family(pid: int) -> list[int]:
    """The process and all that it and its threads started."""
    children = [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]
    return [pid, *(one for child in children for one in _family(child))]


def _processor_s(pid: int) -> float:
    ticks = 0
    for one in _family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
