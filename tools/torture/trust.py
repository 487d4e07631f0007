"""R60: a workspace reads, loads, starts and silences nothing beyond its own folder until its user trusts it."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from clones import CANARY, Clone, write_clone
from figure import Figure
from workbench import Done

from capdisc.args import command_table
from capdisc_indexer.store import generation
from capdisc_indexer.store.snapshot import Index

LOOKS = (
    ("index", "--json", "--ask-servers"), ("index", "--ask-servers"), ("list", "--json"), ("validate", "--json"),
    ("search", "sings at noon", "--json"), ("config", "--json"), ("doctor", "--json"), ("status", "--json"),
    ("trust",), ("trust", "--json"),
)  # fmt: skip
# Of so many clones one is trusted afterwards: what was left out must come in then, or the test tests nothing.
TRUSTED_SHARE = 3


def r60(work: Path, rng: random.Random, scale: float) -> Figure:
    """Index, search, check and look at clones with random configurations, and look for canaries from around them."""
    clones, failures, waiting, came_in = max(4, round(240 * scale)), [], 0, 0
    for number in range(clones):
        place = work / f"case-{number}"
        clone = write_clone(place, rng)
        with _standing_in(clone):
            before = _snapshot(clone)
            said = {argv: _run(argv) for argv in LOOKS}
            problems = list(_problems(clone, said, before))
            asks = [
                request["setting"]
                for request in _json(said["config", "--json"]).get("waiting", [])
            ]
            waiting += bool(asks)
            if number % TRUSTED_SHARE == 0 and asks:
                _run(("trust", "--yes"))
                _run(("index",))
                came_in += CANARY in _run(("list", "--json")).out
        if problems:
            failures.append(f"case {number}: {'; '.join(problems[:3])}\n{clone.text}")
            print(failures[-1], file=sys.stderr)
        shutil.rmtree(place)
    if not came_in:
        failures.append("no canary came in where it was trusted")
    note = (
        failures[0].replace("\n", " | ")[:300]
        if failures
        else f"{waiting} waited, {came_in} canaries once trusted"
    )
    return Figure("R60", "a clone gets nothing unasked", clones, len(failures), note)


def _problems(
    clone: Clone, said: dict[tuple[str, ...], Done], before: dict[Path, bytes]
) -> Iterator[str]:
    for argv, done in said.items():
        if CANARY in done.out + done.err:
            yield f"{' '.join(argv)} printed the canary"
        if not done.is_plain or done.code == 70:
            yield f"{' '.join(argv)} ended with {done.code}"
    if clone.started.exists():
        yield "a server was started"
    if _snapshot(clone) != before:
        yield "something outside was written"
    yield from _of_settings(clone, said)
    for index_dir in _index_folders(clone):
        inside = index_dir.resolve().is_relative_to(clone.folder.resolve())
        if not inside and not index_dir.is_relative_to(clone.home / ".cache"):
            yield f"an index lies in {index_dir}"
        yield from _of_index(index_dir)


def _of_settings(clone: Clone, said: dict[tuple[str, ...], Done]) -> Iterator[str]:
    """Whether a setting that waits was applied."""
    config = _json(said["config", "--json"])
    values = {setting["name"]: setting["value"] for setting in config.get("settings", [])}
    if not values:
        yield "config said nothing"
        return
    if values["encoder"] not in ("", "static"):
        yield f"the encoder is {values['encoder']}"
    outside = [
        root
        for root in values["roots"]
        if not Path(root).resolve().is_relative_to(clone.folder.resolve())
    ]
    if outside:
        yield f"roots outside: {outside}"
    found = _json(said["validate", "--json"]).get("findings", [])
    if (
        "hidden-text" not in {finding["code"] for finding in found}
        or said["validate", "--json"].code != 1
    ):
        yield "hidden text was silenced"


def _of_index(index_dir: Path) -> Iterator[str]:
    with Index(index_dir) as index:
        if index.generation.encoder not in ("", "static"):
            yield f"the index was made by {index.generation.encoder}"
        for head in index.documents.all_headers():
            text = json.dumps(head) + (index.documents.body(head["id"]) or b"").decode(
                "utf-8", "replace"
            )
            if CANARY in text:
                yield f"the index holds the canary, in {head['id']}"
    for path in index_dir.rglob("*"):
        if path.is_file() and not path.is_symlink() and CANARY.encode() in path.read_bytes():
            yield f"the canary is in {path.name}"


def _index_folders(clone: Clone) -> list[Path]:
    found = (path.parent for path in clone.folder.parent.rglob("CURRENT"))
    return [path for path in found if generation.read_pointer(path)]


def _snapshot(clone: Clone) -> dict[Path, bytes]:
    """The user's files; what capdisc keeps of its own lies in hidden folders."""
    files = (
        path
        for folder in (clone.outside, clone.home)
        for path in folder.rglob("*")
        if path.is_file()
    )
    return {
        path: path.read_bytes() for path in files if not {".cache", ".local"} & set(path.parts)
    }


def _json(done: Done) -> dict[str, Any]:
    try:
        value = json.loads(done.out)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def _standing_in(clone: Clone) -> Iterator[None]:
    """The process as the user of this clone has it."""
    environ, folder = dict(os.environ), Path.cwd()
    for name in [name for name in os.environ if name.startswith(("CAPDISC_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(
        HOME=str(clone.home),
        PWD=str(clone.folder),
        CRM_URL=f"sqlite:///{clone.outside}/shop.sqlite",
    )
    os.chdir(clone.folder)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)


def _run(argv: tuple[str, ...]) -> Done:
    """The command line in this process: a hundred of them would take minutes otherwise."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True)
        for _ in range(2)
    )
    stdin = sys.stdin
    sys.stdin = io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = command_table.run_command(list(argv))
    finally:
        sys.stdin = stdin
    return Done(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode(), 0.0)
