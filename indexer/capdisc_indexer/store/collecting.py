"""What killed writers and newer generations leave behind, removed. The caller holds the write lock."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.store import leases
from capdisc_indexer.store.generation import folder

KEPT = 2


def numbers(index_dir: Path) -> list[int]:
    """Every generation on disk, published or not."""
    return sorted(int(path.name) for path in (index_dir / "gens").glob("[0-9]*") if path.name.isdigit())


def surplus(index_dir: Path, published: int) -> list[int]:
    """The generations that nothing needs: older than the newest two, or never pointed to."""
    found = numbers(index_dir)
    return [n for n in found if n <= published][:-KEPT] + [n for n in found if n > published]


def unfinished(index_dir: Path) -> list[Path]:
    """What a writer makes and takes away again, unless it is killed."""
    return [*(index_dir / "gens").glob(".tmp-*"), *index_dir.glob(".*.new")]


def sweep(index_dir: Path) -> None:
    """Remove what killed writers left unfinished."""
    for leftover in unfinished(index_dir):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with suppress(OSError):
                leftover.unlink()


def collect(index_dir: Path, published: int) -> None:
    """Remove the surplus generations, but for those that a reader still holds a lease on."""
    for number in surplus(index_dir, published):
        gen = folder(index_dir, number)
        with leases.unused(gen / "LEASE") as free:
            if free:
                shutil.rmtree(gen, ignore_errors=True)
