"""After kill -9 at any time, an index that takes over what another one has never shows more of it
than it should, and the other one is as it was.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capdisc_indexer.store import generation
from capdisc_indexer.store.snapshot import Index

ROUNDS = int(os.environ.get("CAPDISC_KILLS", "16"))


def _start(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "capdisc", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "PWD": str(folder)},
    )


def _ids(index_dir: Path) -> set[str]:
    with Index(index_dir) as index:
        assert generation.verify_digests(index_dir, index.generation) == []
        return {head["id"] for head in index.documents.all_headers()}


@pytest.mark.crash
def test_a_killed_first_build_shows_nothing_of_the_other_index(hermetic, write_skill) -> None:
    home = Path(os.environ["HOME"])
    cache = home / ".cache/capdisc"
    own = {f"skill:crane-{number}" for number in range(40)}
    for number in range(40):
        body = f"Fold crane {number}. " * 150
        write_skill(home / ".claude/skills", f"crane-{number}", f"Folds crane {number}.", body)
    for name in ("shop", *(f"blog-{turn}" for turn in range(ROUNDS))):
        (home / name / ".git").mkdir(parents=True)
        write_skill(home / name / ".claude/skills", f"{name}-own", f"Deploys the {name}.")
    assert _start(home / "shop", "index").wait() == 0
    (shop,) = cache.glob("shop-*")
    assert _ids(shop) == {*own, "skill:shop-own"}
    killed = 0
    for turn in range(1, ROUNDS):
        child = _start(home / f"blog-{turn}", "index")
        while child.poll() is None and not list(cache.glob(f"blog-{turn}-*/gens/*")):
            time.sleep(0.001)
        time.sleep(turn % 8 * 0.02)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        for folder in cache.glob(f"blog-{turn}-*"):
            if generation.read_pointer(folder):
                assert _ids(folder) == {*own, f"skill:blog-{turn}-own"}
        assert _start(home / f"blog-{turn}", "search", "deploy").wait() == 0
        (folder,) = cache.glob(f"blog-{turn}-*")
        assert _ids(folder) == {*own, f"skill:blog-{turn}-own"}
        assert not list(folder.glob("gens/.tmp-*"))
    assert killed, "the kills came too late to prove anything"
    assert _ids(shop) == {*own, "skill:shop-own"}
