"""All cases in processes of their own, so that a signal, a hang or a leak ends one case and not the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from hostile.verdict import Verdict
from hostile.writing import ENV_CANARY, ENV_NAME, FILE_CANARY

PATIENCE_S = 120
WORKERS = 2
_TESTS = Path(__file__).resolve().parent.parent


def verdicts(names: Sequence[str], base: Path) -> dict[str, Verdict]:
    """A verdict for each case, by name; `base` is a folder for their files."""
    shares = [list(names[start::WORKERS]) for start in range(min(WORKERS, len(names)))]
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(
            lambda pair: list(_judged(pair[1], base / str(pair[0]))), enumerate(shares)
        )
        return {verdict.name: verdict for share in found for verdict in share}


def _judged(names: list[str], base: Path) -> Iterator[Verdict]:
    """The verdicts of one process after the other: each goes on behind the case that ended the last."""
    while names:
        names = yield from _one_process(names, base)
        base = base.with_name(f"{base.name}+")


def _one_process(names: list[str], base: Path) -> Generator[Verdict, None, list[str]]:
    """Yields verdicts until the process ends; gives the names that are left."""
    command = [sys.executable, "-m", "hostile.worker", str(base), *names]
    done = 0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environ(base)
    ) as child:
        for line in _lines(child):
            verdict = Verdict(**json.loads(line))
            yield replace(verdict, faults=tuple(verdict.faults))
            done += 1
        last_words = child.stderr.read()[-400:] if child.stderr else ""
    if done < len(names):
        end = (
            f"ended by signal {-child.returncode}"
            if child.returncode < 0
            else f"ended with {child.returncode}"
        )
        yield Verdict(name=names[done], faults=(f"{end}: {last_words}",))
    return names[done + 1 :]


def _lines(child: subprocess.Popen[str]) -> Iterator[str]:
    """The child's lines; it is killed when the next one does not come."""
    while True:
        watch = threading.Timer(PATIENCE_S, child.kill)
        watch.start()
        line = child.stdout.readline() if child.stdout else ""
        watch.cancel()
        if not line:
            return
        yield line


def _environ(base: Path) -> dict[str, str]:
    """A home of its own with a canary in it, another canary in the environment, and nothing that capdisc reads."""
    for name in ("home", "work", "tmp"):
        (base / name).mkdir(parents=True, exist_ok=True)
    (base / "home" / "canary.md").write_text(f"{FILE_CANARY}\n")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CAPDISC_", "XDG_"))
    }
    path = os.pathsep.join(filter(None, [str(_TESTS), kept.get("PYTHONPATH")]))
    return kept | {
        "HOME": str(base / "home"),
        "PWD": str(base / "work"),
        "TMPDIR": str(base / "tmp"),
        "PYTHONPATH": path,
        ENV_NAME: ENV_CANARY,
        "TERM": "xterm",
        "COLUMNS": "120",
        "CAPDISC_TABLE": "off",  # no background process: its files would count as the command's
    }
