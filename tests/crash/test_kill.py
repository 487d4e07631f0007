"""R1, R2, R6: after kill -9 at any time the index opens, agrees and answers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from capdisc_indexer.store import generation, publication, vector_files
from capdisc_indexer.store.snapshot import Index

ROUNDS = int(os.environ.get("CAPDISC_KILLS", "12"))
SEED = int(os.environ.get("CAPDISC_SEED", "1"))


def _index(root, index_dir) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "capdisc",
        "index",
        str(root),
        "--index-dir",
        str(index_dir),
        "--json",
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _published(output: str) -> int:
    try:
        return json.loads(output)["generation"]
    except ValueError:
        return 0


@pytest.mark.crash
def test_a_killed_writer_loses_nothing_and_blocks_nobody(hermetic, write_skill) -> None:
    rng = random.Random(SEED)
    root, index_dir = hermetic / "skills", hermetic / "index"
    for number in range(30):
        write_skill(root, f"skill-{number}", f"Handles case {number}. Use when asked for it.")
    first = _index(root, index_dir)
    acknowledged = _published(first.communicate()[0])
    whole = _duration(root, index_dir, write_skill)
    assert acknowledged == 1
    killed = 0
    for turn in range(ROUNDS):
        write_skill(
            root, f"skill-{rng.randrange(40)}", f"Handles turn {turn}. Use when asked for it."
        )
        child = _index(root, index_dir)
        time.sleep(rng.uniform(0.3, 1.0) * whole)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        acknowledged = max(acknowledged, _published(child.stdout.read()))
        child.stdout.close()
        _check(index_dir, acknowledged)
    assert killed >= ROUNDS // 3, "the kills came too late to prove anything"
    last = _index(root, index_dir)
    assert _published(last.communicate()[0]) >= acknowledged
    leftovers = [path.name for path in (index_dir / "gens").iterdir()]
    assert len(leftovers) <= publication.KEPT_GENERATIONS
    assert not [name for name in leftovers if name.startswith(".tmp")]


def _duration(root, index_dir, write_skill) -> float:
    write_skill(root, "skill-0", "Handles the first case. Use when asked for it.")
    started = time.monotonic()
    _index(root, index_dir).communicate()
    return time.monotonic() - started


def _check(index_dir, acknowledged: int) -> None:
    with Index(index_dir) as index:
        assert index.generation.number >= acknowledged
        assert generation.verify_digests(index_dir, index.generation) == []
        heads = list(index.documents.all_headers())
        assert len(heads) == index.generation.counts["capabilities"]
        assert len(index.matrix) == index.generation.counts["rows"]
        assert index.generation.counts["stored"] == vector_files.count_rows(
            index.folder / "vectors"
        )
