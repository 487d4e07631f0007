"""Servers with sockets in a short path, and clients in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "torture"))  # a server to talk to

from served import PATIENCE_S, Served


@pytest.fixture(autouse=True)
def runtime(hermetic, monkeypatch) -> Iterator[Path]:
    """The folder for sockets; the working folder is a workspace."""
    folder = Path(tempfile.mkdtemp(prefix="cd-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    (hermetic / ".git").mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def serving() -> Iterator[Callable[..., Served]]:
    """Start a server and wait until it answers: `serving("serve", "--idle", "1s")`."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(Served(*words)).ready()


@pytest.fixture
def client() -> Callable[..., tuple[int, str, str]]:
    """Run a command line as users do; exit status, stdout and stderr."""

    def run(*argv: str, stdin: str | None = None, **env: str) -> tuple[int, str, str]:
        given = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(
            [sys.executable, "-m", "capdisc", *argv], capture_output=True, text=True, timeout=PATIENCE_S,
            env={**os.environ, **env}, check=False, **given,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run
