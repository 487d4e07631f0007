"""Folders of skills that change, and how long an index takes to follow them."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from watched import content, scratch, until


def fresh(work: Path) -> tuple[Path, Path]:
    """An empty root, with folders above it to move, and where its index goes."""
    folder = Path(tempfile.mkdtemp(dir=work))
    root = folder / "outer" / "root"
    root.mkdir(parents=True)
    return root, folder / "index"


def write(root: Path, number: int, text: str) -> Path:
    """Write a skill of that number that speaks of `text`."""
    path = root / f"group-{number % 20}" / f"skill-{number}" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text_of(number, text))
    return path


def text_of(number: int, text: str) -> bytes:
    """What its SKILL.md holds."""
    description = f"Handles {text} of {number}. Use when asked."
    return f"---\nname: skill-{number}\ndescription: {description}\n---\n\nDo it.\n".encode()


def description(index_dir: Path) -> str:
    """All descriptions that the index holds."""
    return " ".join(whole.description for _, whole in content(index_dir))


def burst(root: Path, rng: random.Random, scale: float, made: int) -> int:
    """Make, rename and delete many folders at once; how many were ever made, `made` of them before."""
    new, renamed, deleted = (max(4, int(number * scale)) for number in (2_000, 800, 400))
    for number in range(made, made + new):
        write(root, number, "new")
    folders = sorted(path for path in root.rglob("skill-*") if path.is_dir())
    chosen = rng.sample(folders, min(renamed + deleted, len(folders)))
    for path in chosen[:renamed]:
        path.rename(path.with_name(f"{path.name}-renamed"))
    for path in chosen[renamed:]:
        shutil.rmtree(path)
    return made + new


def equal_after(
    index_dir: Path, roots: Sequence[Path], work: Path, limit_s: float
) -> float | None:
    """The seconds until the index was equal to one from scratch; None when it was not within the limit.

    Comparing takes its own time, so the pointer's stamp tells when the last generation came.
    """
    ended = time.time()
    wanted = scratch(roots, work)
    if not until(lambda: content(index_dir) == wanted, limit_s * 3):
        return None
    took = max(0.0, (index_dir / "CURRENT").stat().st_mtime - ended)
    return took if took <= limit_s else None


def times(took: Sequence[float | None]) -> str:
    """How long it took each time, in words."""
    return "after " + ", ".join("too long" if each is None else f"{each:.1f} s" for each in took)
