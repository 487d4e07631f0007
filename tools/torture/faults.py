"""R12, R13: files that change, copies that are damaged."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import workbench
from figure import Figure
from workbench import command, index, run, sick, skills, write_skill

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.store import generation


def r12(work: Path, rng: random.Random, scale: float) -> Figure:
    """Change files of a generation at random: a deep look finds all of it, opening every change of size."""
    root, index_dir = skills(work / "root", 20, rng), work / "index"
    index(work, root, index_dir)
    write_skill(root, "skill-1", workbench.sentence(rng))
    index(work, root, index_dir)
    number = generation.load_unchecked(index_dir).number
    gen, older = (
        generation.generation_folder(index_dir, number),
        generation.generation_folder(index_dir, number - 1),
    )
    files = [
        name for name in generation.load_unchecked(index_dir).files if (gen / name).stat().st_size
    ]
    rounds, missed = max(20, round(200 * scale)), []
    for _ in range(rounds):
        name = rng.choice([*files, "MANIFEST"])
        with changed(gen / name, older / name, rng) as kind:
            if not sick(index_dir):
                missed.append(f"{kind} {name}")
            if kind in ("cut", "delete") and not _refused(index_dir):
                missed.append(f"{kind} {name} at open")
    return Figure("R12", "damage is found", rounds, len(missed), "; ".join(missed[:3]))


def _refused(index_dir: Path) -> bool:
    try:
        generation.load_current(index_dir)
    except IndexStateError:
        return True
    return False


class changed:  # noqa: N801
    """Inside, the file is another one; afterwards it is what it was, links to it included."""

    def __init__(self, path: Path, older: Path, rng: random.Random) -> None:
        self._path, self._older, self._rng = path, older, rng
        self._kept = path.with_name(f"{path.name}.kept.lock")

    def __enter__(self) -> str:
        data = self._path.read_bytes()
        self._path.rename(self._kept)
        other = self._older.read_bytes() if self._older.exists() else data
        kinds = ["flip", "cut", "delete", "zero", *(["swap"] if other != data else [])]
        kind = self._rng.choice(kinds)
        if kind != "delete":
            self._path.write_bytes(other if kind == "swap" else damaged(data, kind, self._rng))
        return kind

    def __exit__(self, *_: object) -> None:
        self._kept.replace(self._path)


def damaged(data: bytes, kind: str, rng: random.Random) -> bytes:
    """The bytes with one harm done to them: never the same as before."""
    at = rng.randrange(len(data))
    if kind == "cut":
        return data[:at]
    end = at + 1 if kind == "flip" else min(len(data), at + rng.randrange(1, 64))
    piece = (
        bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at:end])
        if kind == "flip"
        else bytes(end - at)
    )
    made = data[:at] + piece + data[end:]
    return made if made != data else damaged(data, "flip", rng)


def r13(work: Path, rng: random.Random, scale: float) -> Figure:
    """Damaged copies of every file: each command ends with a status of its own and one line."""
    root, whole = skills(work / "root", 10, rng), work / "whole"
    index(work, root, whole)
    done, broken = 0, []
    files = [
        path.relative_to(whole)
        for path in whole.rglob("*")
        if path.is_file() and path.stat().st_size
    ]
    for name in rng.sample(files, max(4, round(len(files) * min(scale, 1)))):
        for kind in ("cut", "empty", "delete", "zero", "flip"):
            copy = work / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy)
            (copy / name).unlink()
            if kind != "delete":
                data = (whole / name).read_bytes()
                (copy / name).write_bytes(b"" if kind == "empty" else damaged(data, kind, rng))
            for argv in (
                ("search", "fold paper"),
                ("render", "fold paper"),
                ("doctor",),
                ("index", str(root)),
            ):
                done += 1
                found = run(work, command(*argv, "--index-dir", str(copy)))
                if (
                    not found.is_plain
                    or found.code not in (0, 1, 4)
                    or (found.out and found.code == 4 != argv[0])
                ):
                    broken += (
                        []
                        if argv[0] == "doctor"
                        else [f"{kind} {name}: {argv[0]} {found.code} {found.err[:80]}"]
                    )
    return Figure(
        "R13", "damage ends in one line and a status", done, len(broken), "; ".join(broken[:3])
    )
