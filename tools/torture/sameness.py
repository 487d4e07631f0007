"""R14, R15, R20: the same folders give the same index, whatever happened on the way and whatever the stamps say."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import workbench
from figure import Figure
from workbench import command, index, run, skills, start, write_skill

from capdisc_indexer import encoders
from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions, Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

_QUERIES = [f"{verb} {noun}" for verb in workbench.VERBS[:6] for noun in workbench.NOUNS[:5]]


# As the command line builds: where nothing changed, stamps alone tell so.
_OPTIONS = BuildOptions(only_new_findings=True)


def answers(index_dir: Path, root: Path) -> dict[str, Any]:
    """Everything that an index says: records, vectors, and the first ten of thirty queries. Paths start at the root."""
    encoder = encoders.load_encoder()
    with Index(index_dir) as opened:
        heads = list(opened.documents.all_headers())
        records = {
            head["id"]: repr(opened.full_descriptor(head)).replace(str(root), "ROOT")
            for head in heads
        }
        queries = [Query(texts=(text,), limit=10) for text in _QUERIES]
        ranked = [
            [(hit.id, round(hit.score, 6)) for hit in search_index(opened, each, encoder).hits]
            for each in queries
        ]
        order = [[name for name, _ in each] for each in ranked]
        rows = (opened.folder / "matrix" / "matrix.i8").read_bytes() if opened.matrix else b""
        return {
            "records": records,
            "rows": rows,
            "ranked": ranked,
            "order": order,
            "overview": opened.meta("overview"),
        }


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What the two do not have in common."""
    return [key for key in one if one[key] != other[key]]


def r14(work: Path, rng: random.Random, scale: float) -> Figure:
    """Change a tree in random ways, building now and then, killed builds among them; then build from scratch."""
    sequences, wrong = max(2, round(200 * scale)), []
    for number in range(sequences):
        root, index_dir = work / f"root-{number}", work / f"index-{number}"
        skills(root, rng.randrange(1, 25), rng)
        build_index([root], index_dir, _OPTIONS)
        for _ in range(rng.randrange(1, 12)):
            for _ in range(rng.randrange(1, 4)):
                rng.choice(_CHANGES)(root, rng)
            build_index([root], index_dir, _OPTIONS) if rng.random() < 0.9 else _killed(
                work, root, index_dir, rng
            )
        build_index([root], index_dir, _OPTIONS)
        build_index([root], work / "fresh", BuildOptions())
        differ = differences(answers(index_dir, root), answers(work / "fresh", root))
        wrong += [f"sequence {number}: {', '.join(differ)}"] if differ else []
        for each in (root, index_dir, work / "fresh"):
            shutil.rmtree(each)
    return Figure(
        "R14", "step by step equals from scratch", sequences, len(wrong), "; ".join(wrong[:3])
    )


def _killed(work: Path, root: Path, index_dir: Path, rng: random.Random) -> None:
    child = start(work, command("index", str(root), "--index-dir", str(index_dir)))
    time.sleep(rng.uniform(0.3, 1.5))
    child.kill()
    child.communicate()


def _one(root: Path, rng: random.Random) -> Path | None:
    found = sorted(root.glob("*/SKILL.md"))
    return rng.choice(found).parent if found else None


def _add(root: Path, rng: random.Random) -> None:
    write_skill(root, f"skill-{rng.randrange(60)}", workbench.sentence(rng))


def _rename(root: Path, rng: random.Random) -> None:
    if folder := _one(root, rng):
        write_skill(root, folder.name, workbench.sentence(rng))
        target = root / f"skill-{rng.randrange(60)}"
        if not target.exists():
            folder.rename(target)


def _delete(root: Path, rng: random.Random) -> None:
    if folder := _one(root, rng):
        shutil.rmtree(folder)


def _chmod(root: Path, rng: random.Random) -> None:
    if folder := _one(root, rng):
        (folder / "SKILL.md").chmod(rng.choice((0o600, 0o644, 0o400)))


def _swap(root: Path, rng: random.Random) -> None:
    one, other = _one(root, rng), _one(root, rng)
    if one and other and one != other:
        one.rename(root / "aside")
        other.rename(one)
        (root / "aside").rename(other)


_CHANGES: tuple[Callable[[Path, random.Random], None], ...] = (
    _add,
    _add,
    _rename,
    _delete,
    _chmod,
    _swap,
)


def r15(work: Path, rng: random.Random, scale: float) -> Figure:
    """Build with other time zones, locales, hash seeds, folder orders and checkout paths: the same answers."""
    root = skills(work / "here" / "root", 60, rng)
    index(work, root, work / "first")
    expected, done, wrong = answers(work / "first", root), 0, []
    zones, locales = ("Asia/Tokyo", "America/Lima"), ("C", "tr_TR.UTF-8", "C.UTF-8")
    for seed in range(max(2, round(5 * scale))):
        done += 1
        copy, index_dir = work / f"copy-{seed}" / "elsewhere", work / f"index-{seed}"
        names = sorted(path.name for path in root.iterdir())
        for name in rng.sample(
            names, len(names)
        ):  # which a folder without an order lists as they came
            shutil.copytree(root / name, copy / name)
        values = {
            "TZ": rng.choice(zones),
            "LC_ALL": rng.choice(locales),
            "PYTHONHASHSEED": str(seed),
        }
        argv = ["env", *(f"{name}={value}" for name, value in values.items())]
        run(work, [*argv, *command("index", str(copy), "--index-dir", str(index_dir))])
        differ = differences(answers(index_dir, copy), expected)
        wrong += [f"{values}: {', '.join(differ)}"] if differ else []
    return Figure(
        "R15", "the same folders give the same index", done, len(wrong), "; ".join(wrong[:2])
    )


def r20(work: Path, rng: random.Random, scale: float) -> Figure:
    """Edits that keep a file's size, with its old stamp, or one of 1970 or 2106, at any moment after the last scan."""
    root, index_dir = work / "root", work / "index"
    for number in range(20):
        write_skill(root, f"skill-{number:02}", "Does thing number ------. Use when asked for it.")
    build_index([root], index_dir, _OPTIONS)
    edits, missed = max(20, round(1_000 * scale)), 0
    for number in range(edits):
        path = root / f"skill-{rng.randrange(20):02}" / "SKILL.md"
        before = path.stat()
        write_skill(
            root, path.parent.name, f"Does thing number {number:06}. Use when asked for it."
        )
        stamp = rng.choice((before.st_mtime_ns, 0, 4_290_000_000 * 10**9, time.time_ns()))
        os.utime(path, ns=(stamp, stamp))
        missed += build_index([root], index_dir, _OPTIONS).counts["updated"] != 1
    return Figure("R20", "no edit hides behind its time stamp", edits, missed)
