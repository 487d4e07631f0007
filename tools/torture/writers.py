"""R7, R8, R9, R21: writers that wait, readers that never do, and signals."""

from __future__ import annotations

import contextlib
import fcntl
import json
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import workbench
from figure import Figure
from workbench import command, held, index, run, skills, start, wanted, write_skill

from capdisc_indexer.store import generation

# How long a query beside a stopped writer, or the end of a command after a signal, may take.
PROMISED_SECONDS = 2.0
# Of fewer runs, a tenth is a matter of chance.
_MANY_RUNS = 100
_STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def r7(work: Path, rng: random.Random, scale: float) -> Figure:
    """Four writers at once for a minute, each with a root file of its own; then one behind a writer that is stopped."""
    root, index_dir = skills(work / "root", 10, rng), work / "index"
    index(work, root, index_dir)
    until, published = time.monotonic() + max(6.0, 60 * scale), [0] * 4
    problems: list[str] = []

    def write(number: int) -> None:
        own = random.Random(number)
        while time.monotonic() < until:
            write_skill(root, f"writer-{number}", workbench.sentence(own))
            done = index(work, root, index_dir, "--lock-timeout", "1m")
            published[number] += done.generation > 0
            problems.extend([] if done.code in workbench.DONE else [done.err[:100]])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    index(work, root, index_dir)
    total = sum(published)
    fair_share = 0.1 * total if total >= _MANY_RUNS else 1
    starved = sum(count < fair_share for count in published)
    problems += [] if held(index_dir) == wanted(root) else ["not what a scratch build holds"]
    problems += _behind_a_stopped_one(work, root, index_dir, rng)
    note = "; ".join(problems[:2]) or f"{published} runs"
    return Figure(
        "R7",
        "writers take turns, and name who holds them up",
        sum(published),
        starved + len(problems),
        note,
    )


def _behind_a_stopped_one(
    work: Path, root: Path, index_dir: Path, rng: random.Random
) -> list[str]:
    write_skill(root, "skill-0", workbench.sentence(rng))
    child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
    while (
        not (index_dir / "LOCK").read_text().startswith(f"{child.pid} ") and child.poll() is None
    ):
        time.sleep(0.005)
    child.send_signal(signal.SIGSTOP)
    done = index(work, root, index_dir, "--lock-timeout", "500ms")
    child.kill()
    child.communicate()
    said = f"process {child.pid} (stopped)" in done.err
    return (
        []
        if (done.code, said) == (75, True)
        else [f"behind a stopped writer: {done.code} {done.err[:100]}"]
    )


def r8(work: Path, rng: random.Random, scale: float) -> Figure:
    """Four readers in a loop while a writer publishes for a minute."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    index(work, root, index_dir)
    until, done, wrong = time.monotonic() + max(6.0, 60 * scale), [0] * 4, []

    def read(number: int) -> None:
        last = 0
        while time.monotonic() < until:
            found = run(
                work,
                command("search", "fold paper cranes", "--json", "--index-dir", str(index_dir)),
            )
            if found.code != 0 or json.loads(found.out)["generation"] < last:
                wrong.append(f"{found.code} {found.err[:100]}")
            else:
                last, done[number] = found.generation, done[number] + 1

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for each in readers:
        each.start()
    while time.monotonic() < until:
        write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
        index(work, root, index_dir)
    for each in readers:
        each.join()
    note = "; ".join(wrong[:2]) or generation.read_pointer(index_dir).split()[0] + " generations"
    return Figure("R8", "readers are answered while one writes", sum(done), len(wrong), note)


def r9(work: Path, rng: random.Random, scale: float) -> Figure:
    """Stop a writer at random times, and hold the text engine's lock: a query is answered within two seconds."""
    root, index_dir = skills(work / "root", 10, rng), work / "index"
    seconds = index(work, root, index_dir).seconds
    rounds, late, worst = max(4, round(100 * scale)), [], 0.0
    for turn in range(rounds):
        write_skill(root, f"skill-{rng.randrange(10)}", workbench.sentence(rng))
        child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
        time.sleep(rng.uniform(0.2, 1.0) * seconds)
        child.send_signal(signal.SIGSTOP)
        gen = generation.generation_folder(
            index_dir, int(generation.read_pointer(index_dir).split()[0])
        )
        with (gen / "text" / ".tantivy-meta.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = run(work, command("search", "fold paper", "--index-dir", str(index_dir)))
        worst = max(worst, found.seconds)
        late += (
            [f"turn {turn}: {found.code} after {found.seconds:.1f} s"]
            if found.code or found.seconds > PROMISED_SECONDS
            else []
        )
        child.kill()
        child.communicate()
    note = "; ".join(late[:2]) or f"{worst:.2f} s at worst"
    return Figure("R9", "a reader is never held up", rounds, len(late), note)


def _wait_for_handlers(pid: int) -> None:
    """Returns when the process handles SIGTERM or has ended: before our code runs, Python itself answers signals."""
    with contextlib.suppress(OSError):
        while True:
            status = Path(f"/proc/{pid}/status").read_text()
            caught = re.search(r"SigCgt:\s*(\w+)", status)
            if (
                "(zombie)" in status
                or not caught
                or int(caught[1], 16) & 1 << (signal.SIGTERM - 1)
            ):
                return
            time.sleep(0.01)


def r21(work: Path, rng: random.Random, scale: float) -> Figure:
    """Signals at random times: the right status within two seconds, not a word, nothing left, the index as it was."""
    root, index_dir = skills(work / "root", 20, rng), work / "index"
    index(work, root, index_dir)
    argvs = [("index", str(root), "--rebuild")] * 3 + [
        ("search", "-"),
        ("render", "fold"),
        ("doctor", "--deep"),
    ]
    rounds, wrong, in_time = max(6, round(200 * scale)), [], 0
    for turn in range(rounds):
        argv, sent = rng.choice(argvs), rng.choice(list(_STATUS))
        child = subprocess.Popen(
            command(*argv, "--index-dir", str(index_dir)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=workbench.environment(work),
        )  # fmt: skip
        _wait_for_handlers(child.pid)
        time.sleep(rng.uniform(0, 1.35))
        started = time.monotonic()
        child.send_signal(sent)
        _, err = child.communicate()
        if child.returncode == _STATUS[sent]:
            in_time += 1
            quiet = not err and not list((index_dir / "gens").glob(".*"))
            is_late = time.monotonic() - started > PROMISED_SECONDS
            wrong += [f"turn {turn}: {err[:100]!r}"] if is_late or not quiet else []
        elif child.returncode not in workbench.DONE:
            wrong.append(
                f"turn {turn}: {argv[0]} {sent.name} gave {child.returncode} {err[:100]!r}"
            )
    wrong += [] if held(index_dir) == wanted(root) else ["the index has changed"]
    note = "; ".join(wrong[:2]) or f"{in_time} came in time to stop anything"
    return Figure("R21", "signals end a command at once", rounds, len(wrong), note)
