"""R1, R2, R4, R5, R6: writers that are killed, readers that never see half of anything, leftovers that stay few."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import workbench
from figure import Figure
from workbench import command, held, index, sick, skills, start, wanted, write_skill

from capdisc_indexer.store import generation, publication
from capdisc_indexer.store.snapshot import Index


def r1(work: Path, rng: random.Random, scale: float) -> Figure:
    """Kill writers at random times; what the index holds must be what the last acknowledged run saw, or a later one."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    seconds = index(work, root, index_dir).seconds
    states, acknowledged, wrong, killed, turn = [wanted(root)], 0, [], 0, 0
    kills = max(3, round(300 * scale))
    while killed < kills and turn < 4 * kills:
        turn += 1
        write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
        states.append(wanted(root))
        started = time.monotonic()
        child = start(work, command("index", str(root), "--index-dir", str(index_dir), "--json"))
        with suppress(subprocess.TimeoutExpired):
            child.wait(rng.uniform(0.2, 1.1) * seconds)
            seconds = time.monotonic() - started  # what it takes on this machine now
        child.send_signal(signal.SIGKILL)
        out, _ = child.communicate()
        killed += child.returncode == -signal.SIGKILL
        acknowledged = turn if '"generation"' in out else acknowledged
        problem = sick(index_dir, deep=turn % 5 == 0)
        if problem or held(index_dir) not in states[acknowledged:]:
            wrong.append(problem or f"turn {turn}: lost or mixed")
    return Figure("R1", "a killed writer loses nothing", killed, len(wrong), "; ".join(wrong[:2]))


def r2(work: Path, rng: random.Random, scale: float) -> Figure:
    """Open the index again and again while a writer publishes: all stores must be of one generation."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    index(work, root, index_dir)
    opens, wrong, seen, child = 0, 0, set(), None
    while opens < max(200, 10_000 * scale):
        if child is None or child.poll() is not None:
            if child:
                child.communicate()
            write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
            child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
        for _ in range(20):
            opens += 1
            try:
                held(index_dir)
            except Exception:
                wrong += 1
        seen.add(generation.read_pointer(index_dir))
    child.communicate()
    return Figure(
        "R2", "both stores are of one generation", opens, wrong, f"{len(seen)} generations"
    )


def r4(work: Path, rng: random.Random, scale: float) -> Figure:
    """Publish many times while a reader keeps its generation: not a byte of that may change."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    index(work, root, index_dir)
    commits = max(3, round(50 * scale))
    with Index(index_dir) as reader:
        before = {path: path.read_bytes() for path in reader.folder.rglob("*") if path.is_file()}
        for _ in range(commits):
            write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
            index(work, root, index_dir)
        after = {path: path.read_bytes() for path in reader.folder.rglob("*") if path.is_file()}
    return Figure(
        "R4", "a published generation is never written to", commits, int(before != after)
    )


def r5(work: Path, rng: random.Random, scale: float) -> Figure:
    """Kill writers, run one to its end, and count what is left; then the files of a large catalogue."""
    root, index_dir = skills(work / "root", 30, rng), work / "index"
    seconds = index(work, root, index_dir).seconds
    kills = max(3, round(60 * scale))
    for _ in range(kills):
        write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
        child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
        time.sleep(rng.uniform(0.5, 1.1) * seconds)
        child.kill()
        child.communicate()
    index(work, root, index_dir)
    index(work, root, work / "fresh")
    ratio = _bytes(index_dir) / _bytes(work / "fresh")
    failed = [
        len(publication.generation_numbers(index_dir)) > 2,
        bool(publication.list_unfinished(index_dir)),
        ratio > 2.5,
    ]
    shutil.rmtree(index_dir)
    index(work, skills(root, round(max(0.1, scale) * 2_000), rng), index_dir)
    for _ in range(3):
        write_skill(root, f"skill-{rng.randrange(40)}", workbench.sentence(rng))
        index(work, root, index_dir)
    files = sum(path.is_file() for path in index_dir.rglob("*"))
    note = f"{ratio:.2f} times a fresh build, {files} files"
    return Figure(
        "R5", "what is left behind stays little", kills, sum(failed) + (files > 200), note
    )


def _bytes(folder: Path) -> int:
    """The bytes on disk; a file that two generations share counts once."""
    found = {
        status.st_ino: status.st_size for status in (path.stat() for path in folder.rglob("*"))
    }
    return sum(found.values())


def r6(work: Path, rng: random.Random, scale: float) -> Figure:
    """Start the next writer right after one was killed: it must not wait, nor need help."""
    root, index_dir = skills(work / "root", 10, rng), work / "index"
    seconds = index(work, root, index_dir).seconds
    kills, failed = max(3, round(100 * scale)), 0
    for _ in range(kills):
        write_skill(root, f"skill-{rng.randrange(10)}", workbench.sentence(rng))
        child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
        time.sleep(rng.uniform(0.3, 0.9) * seconds)
        child.kill()
        done = index(work, root, index_dir, "--lock-timeout", "1s")
        failed += done.code not in workbench.DONE
        child.communicate()
    return Figure("R6", "no lock outlives its holder", kills, failed)
