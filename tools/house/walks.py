"""Walks: the files and functions of the product that a command enters on its way.

Three commands over thirty small skills in a workspace of their own: a search, an index in which
nothing changed, and one in which one file changed. Each runs in a fresh process. Counted is all that
is called, which includes the bodies of classes; the bodies of modules are not.

Run as a script with the words of a command line, this module follows that command and prints what
it found as JSON, in the place of what the command prints.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":  # this package, and the product of this tree, whatever is installed
    _REPOSITORY = Path(__file__).resolve().parents[2]
    _PLUGINS = map(str, _REPOSITORY.glob("plugins/*"))
    sys.path[:1] = [*(f"{_REPOSITORY}/{name}" for name in ("tools", "cli", "indexer")), *_PLUGINS]

from house.source_tree import PACKAGES, REPOSITORY, Figure

_SKILL = """---
name: task-{number}
description: Does task number {number} from its plan to its report. Use for task {number}.
---

Write the plan, do task {number}, and write the report.
"""
_SKILL_COUNT = 30
_QUERY = "report on task 7"
_PASSED_ON = ("PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
# From then on a reader remembers that the files of an index are sound, and later ones do not check
# them again: without the wait, a walk would depend on the speed of the machine.
_SETTLED_S = 2.1


def walk_commands() -> dict[str, Figure]:
    """The figure of each walk by its name: files that were entered, each with its functions."""
    with tempfile.TemporaryDirectory(
        prefix="capdisc-walks-", ignore_cleanup_errors=True
    ) as folder:
        return dict(_walk_in(Path(folder)))


def _walk_in(folder: Path) -> Iterator[tuple[str, Figure]]:
    home, workspace = folder / "home", folder / "workspace"
    home.mkdir()
    (workspace / ".git").mkdir(parents=True)
    files = [
        workspace / ".claude" / "skills" / f"task-{number}" / "SKILL.md"
        for number in range(_SKILL_COUNT)
    ]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True)
        file.write_text(_SKILL.format(number=number), encoding="utf-8")
    # The LanceDB table would be written by a process that outlives the command.
    environ = {"HOME": str(home), "CAPDISC_TABLE": "off"}
    environ |= {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    _follow(["index"], workspace, environ)
    time.sleep(_SETTLED_S)
    yield "walk-search", _follow(["search", _QUERY], workspace, environ)
    yield "walk-unchanged", _follow(["index"], workspace, environ)
    with files[3].open("a", encoding="utf-8") as changed_file:
        changed_file.write("\nSend the report.\n")
    yield "walk-one-changed", _follow(["index"], workspace, environ)


def _follow(words: Sequence[str], workspace: Path, environ: Mapping[str, str]) -> Figure:
    """The files that a command enters. Raises RuntimeError where the command fails."""
    done = subprocess.run(
        [sys.executable, __file__, *words],
        cwd=workspace,
        env=dict(environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"capdisc {' '.join(words)}: {done.stderr[-2_000:]}")
    entered: dict[str, list[str]] = json.loads(done.stdout)
    places = (
        f"{file} {len(functions)}: {', '.join(functions)}" for file, functions in entered.items()
    )
    return Figure(value=len(entered), places=tuple(places))


def count_functions(walk: Figure) -> int:
    """The number of functions that a walk enters."""
    return sum(int(place.split(" ", 2)[1].rstrip(":")) for place in walk.places)


def trace_command(words: Sequence[str]) -> dict[str, list[str]]:
    """The functions that a command line of capdisc enters, by the product's files, in order.

    Raises RuntimeError where the command ends with another status than 0.
    """
    from capdisc.__main__ import main

    entered: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            entered[code.co_filename][f"{code.co_name}:{code.co_firstlineno}"] = None

    status: object = 0
    sys.argv = ["capdisc", *words]
    os._exit = sys.exit  # type: ignore[assignment]  # by which a command ends
    printed, messages = io.StringIO(), io.StringIO()
    threading.setprofile(note_call)
    sys.setprofile(note_call)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(messages):
            main()
    except SystemExit as error:
        status = error.code
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if status:
        raise RuntimeError(f"status {status}: {messages.getvalue()}")
    roots = tuple(f"{REPOSITORY / package}{os.sep}" for package in PACKAGES)
    return {
        Path(file).relative_to(REPOSITORY).as_posix(): list(functions)
        for file, functions in sorted(entered.items())
        if file.startswith(roots)
    }


if __name__ == "__main__":
    print(json.dumps(trace_command(sys.argv[1:])))
