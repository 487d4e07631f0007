"""What `capdisc serve` promises, tried hard: strangers, deaths, bad clients, the same answers, crashes."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figure import Figure
from served import Served, message, received, until
from workbench import command, environment, index, sentence, skills

from capdisc.serve import protocol

_STRANGER = (
    "import os, socket, sys; os.setgid(65534); os.setuid(65534); one = socket.socket(socket.AF_UNIX)\n"
    "try: one.connect(sys.argv[1]); one.sendall(sys.stdin.buffer.read()); sys.exit(bool(one.recv(9)))\n"
    "except OSError: pass"
)


@contextmanager
def _serving(work: Path, rng: random.Random, count: int = 200) -> Iterator[Served]:
    """A server for `count` skills, and this process in its workspace."""
    (work / ".git").mkdir(exist_ok=True)
    index(work, skills(work / "skills", count, rng), work / "index")
    with (
        tempfile.TemporaryDirectory(prefix="cd-") as runtime,
        _in(work, runtime),
        Served(cwd=work) as served,
    ):
        yield served.ready()


@contextmanager
def _in(work: Path, runtime: str) -> Iterator[None]:
    before, folder = dict(os.environ), Path.cwd()
    inside = {"CAPDISC_INDEX_DIR": str(work / "index"), "XDG_RUNTIME_DIR": runtime}
    # Nothing else may stay: with another XDG_STATE_HOME the index would count as a stranger's.
    wanted = environment(work) | inside
    os.environ.clear()
    os.environ.update(wanted)
    os.chdir(work)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


def _client(*argv: str, wish: str = "auto") -> tuple[int, bytes, bytes, float]:
    started = time.monotonic()
    done = subprocess.run(
        command(*argv, "--server", wish),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr, time.monotonic() - started


def r33(work: Path, rng: random.Random, scale: float) -> Figure:
    """Another user, by folder modes of 0700 and 0777."""
    what, runs = "another user is refused", max(2, int(100 * scale))
    if os.geteuid() != 0:
        return Figure("R33", what, 0, 0, "skipped: only root can be somebody else")
    with _serving(work, rng, 20) as served:
        sent, failed = message(["search", "paper"]), 0
        for run in range(runs):
            for folder in (served.path.parent, served.path.parent.parent):
                folder.chmod(0o777 if run % 2 else 0o700)
            served.path.chmod(0o777)
            stranger = [sys.executable, "-c", _STRANGER, str(served.path)]
            failed += (
                subprocess.run(stranger, input=sent, capture_output=True, check=False).returncode
                != 0
            )
        failed += served.asked("search", "paper")[0] != protocol.ANSWERED
    return Figure("R33", what, runs, failed, "folders of mode 0700 and 0777 by turns")


def r34(work: Path, rng: random.Random, scale: float) -> Figure:
    """Kill -9 and start again; several at once; other things in the socket's place; a path that is too long."""
    runs, faults = max(2, int(20 * scale)), []
    with _serving(work, rng, 20) as served:
        for run in range(runs):
            served.end(signal.SIGKILL)
            once_more = [Served(cwd=work) for _ in range(3)]
            alive = until(
                lambda these=once_more: sum(each.process.poll() is None for each in these) == 1
            )
            answers = until(lambda: _client("search", "paper", wish="require")[0] in (0, 1))
            faults += [] if alive and answers else [f"run {run}"]
            for each in once_more:
                each.end(signal.SIGKILL)
            for each in once_more:
                each.__exit__(None, None, None)
        for make in (Path.touch, Path.mkdir, lambda path: path.symlink_to("/etc/hostname")):
            served.path.unlink(missing_ok=True)
            make(served.path)
            before = served.path.lstat()
            code, _, err, _ = _client_of("serve")
            faults += (
                []
                if (code, served.path.lstat()) == (4, before) and b"is no socket" in err
                else [str(make)]
            )
            served.path.rmdir() if served.path.is_dir() else served.path.unlink()
        os.environ["XDG_RUNTIME_DIR"] += "/long" * 30
        code, _, err, _ = _client_of("serve")
        faults += [] if code == 3 and b"too long" in err else ["the path that is too long"]
    return Figure(
        "R34",
        "one server, right message, nothing deleted",
        runs + 4,
        len(faults),
        "; ".join(faults),
    )


def _client_of(*argv: str) -> tuple[int, bytes, bytes, float]:
    done = subprocess.run(
        command(*argv), capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    return done.returncode, done.stdout, done.stderr, 0.0


def r35(work: Path, rng: random.Random, scale: float) -> Figure:
    """100,000 random frames, beside 64 idle clients, one that sends a byte a second and some that never read."""
    runs, took, failed = max(100, int(100_000 * scale)), [], 0
    with _serving(work, rng) as served:
        (worker,), whole = served.workers(), message(["search", "paper cranes"])
        before = _resident(worker)
        bad = _Bad(served)
        for run in range(runs):
            served.said(bytes(_mutated(whole, rng)))
            if run % 50 == 0:
                bad.go_on()
                started = time.monotonic()
                failed += served.asked("search", "paper cranes")[0] != protocol.ANSWERED
                took.append(time.monotonic() - started)
        bad.close()
        grown = _resident(worker) - before if served.workers() == [worker] else 1 << 40
    late = sum(each > 0.25 for each in took)
    note = f"good clients: {len(took)}, {1000 * max(took):.0f} ms at most, {late} late; {grown / 1e6:.0f} MB more"
    return Figure(
        "R35", "bad clients hold nobody up", runs, failed + late + (grown > 100_000_000), note
    )


class _Bad:
    """Clients that do nothing, or nearly."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._idle: list[socket.socket] = []
        self._slow = served.connected()
        self.go_on()

    def go_on(self) -> None:
        """64 that are idle, one that sends one byte more, and four that never read."""
        self.close()
        self._idle = [self._served.connected() for _ in range(68)]
        for one in self._idle[:4]:
            one.sendall(message(["list", "--json"]))
        try:
            self._slow.sendall(b"\0")
        except OSError:
            self._slow.close()
            self._slow = self._served.connected()

    def close(self) -> None:
        """Let them go."""
        for one in self._idle:
            one.close()


def _mutated(whole: bytes, rng: random.Random) -> bytearray:
    data = bytearray(whole if rng.random() < 0.8 else rng.randbytes(rng.randrange(1, 2_000)))
    for _ in range(rng.randrange(1, 5)):
        start = rng.randrange(len(data) + 1)
        data[start : start + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
    return data


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def r36(work: Path, rng: random.Random, scale: float) -> Figure:
    """200 queries both ways; a server that hangs; one that is gone; a new generation."""
    runs, faults, more = max(10, int(200 * scale)), [], []
    with _serving(work, rng) as served:
        for _ in range(runs):
            argv = (rng.choice(["search", "render"]), sentence(rng), "--json")
            served_answer, own_answer = _client(*argv, wish="require"), _client(*argv, wish="off")
            is_same = served_answer[:3] == own_answer[:3]
            faults += [] if is_same and own_answer[0] in (0, 1) else [argv[1]]
        (worker,) = served.workers()
        os.kill(worker, signal.SIGSTOP)
        for _ in range(max(5, runs // 10)):
            cold, hung = _client("search", "paper", wish="off"), _client("search", "paper")
            faults += ["while it hangs"] if cold[:3] != hung[:3] else []
            more.append(hung[3] - cold[3])
        os.kill(worker, signal.SIGCONT)
        skills(work / "skills", 1, rng)
        index(work, work / "skills", work / "index")
        status = json.loads(_client("status", "--json", wish="require")[1])
        faults += [] if status["generation"] == 2 else ["the new generation"]
        served.end(signal.SIGKILL)
        faults += [] if _client("search", "paper")[0] == 0 else ["once it is gone"]
    note = (
        "; ".join(faults)
        or f"while it hangs, {1000 * statistics.median(more):.0f} ms more (median)"
    )
    return Figure("R36", "the same answers, with or without", runs, len(faults), note)


def r37(work: Path, rng: random.Random, scale: float) -> Figure:
    """The worker is killed, or hangs for good, while it answers."""
    runs, faults, took = max(3, int(100 * scale)), [], []
    with _serving(work, rng) as served:
        for run in range(runs):
            (worker,) = served.workers()
            with served.connected() as one:
                one.sendall(message(["list", "--cost", "--json"]))
                time.sleep(rng.random() / 50)
                os.kill(worker, rng.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT]))
                received(one)
            started = time.monotonic()
            faults += [] if _client("search", "paper")[0] == 0 else [f"run {run}"]
            took.append(time.monotonic() - started)
            if not until(
                lambda before=worker: len(now := served.workers()) == 1 and now != [before]
            ):
                faults.append(f"run {run}: no other worker")
            until(lambda: served.asked("status")[0] == protocol.ANSWERED)
        faults += _stuck(served, work)
        faults += [] if served.process.poll() is None else ["the server has ended"]
    note = "; ".join(faults) or f"the next answer within {max(took):.1f} s, process and all"
    return Figure("R37", "a crash costs at most one request", runs + 1, len(faults), note)


def _stuck(served: Served, work: Path) -> list[str]:
    """A request that never ends: its index is a pipe that nobody writes to."""
    (work / "stuck").mkdir()
    os.mkfifo(work / "stuck" / "CURRENT")
    (worker,) = served.workers()
    with served.connected() as one:
        one.sendall(message(["status", "--index-dir", str(work / "stuck")]))
        received(one)
    return (
        []
        if until(lambda: len(now := served.workers()) == 1 and now != [worker])
        else ["a stuck one stays"]
    )
