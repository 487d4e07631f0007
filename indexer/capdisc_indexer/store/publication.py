"""Build the next generation in a hidden folder and publish it by one rename. The order of syncs is the guarantee."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capdisc_indexer.store import locks
from capdisc_indexer.store.generation import SCHEMA_VERSION, digest, folder
from capdisc_indexer.types import Generation

KEPT = 2


@contextmanager
def building(index_dir: Path) -> Iterator[Path]:
    """A hidden folder to build the next generation in; removed on failure. The caller holds the write lock."""
    gens = index_dir / "gens"
    locks.private_folder(gens)
    sweep_temporary(gens)
    temporary = gens / f".tmp-{os.getpid()}"
    temporary.mkdir(mode=0o700)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def sweep_temporary(gens: Path) -> None:
    """Remove what a killed writer left behind; safe because the write lock is held."""
    for leftover in gens.glob(".tmp-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def publish(index_dir: Path, temporary: Path, facts: Mapping[str, Any], number: int) -> Generation:
    """Make the built folder the published generation: digests, sync, rename, pointer, sync, in this order."""
    (temporary / "LEASE").touch(mode=0o600)
    files = {name: _entry(temporary / name) for name in sorted(_names(temporary))}
    manifest = json.dumps(
        {"schema_version": SCHEMA_VERSION, **facts, "files": files}, indent=1, sort_keys=True
    ).encode()
    (temporary / "MANIFEST").write_bytes(manifest)
    _sync_tree(temporary)
    final = folder(index_dir, number)
    shutil.rmtree(final, ignore_errors=True)  # published folders are never reused: this one was never pointed to
    temporary.rename(final)
    _sync(final.parent)
    _point(index_dir, f"{number} {hashlib.sha256(manifest).hexdigest()}\n")
    return Generation(number=number, schema_version=SCHEMA_VERSION, files=files, **facts)


def _point(index_dir: Path, line: str) -> None:
    fresh = index_dir / ".CURRENT.new"
    fresh.write_text(line)
    _sync(fresh)
    fresh.replace(index_dir / "CURRENT")
    _sync(index_dir)


def next_number(index_dir: Path) -> int:
    """One more than any generation on disk, so that a number never means two different states."""
    names = [path.name for path in (index_dir / "gens").glob("[0-9]*")]
    return 1 + max((int(name) for name in names if name.isdigit()), default=0)


def collect(index_dir: Path, keep: int) -> None:
    """Remove generations older than the newest two, unless a reader still holds a lease on them."""
    numbers = sorted(int(path.name) for path in (index_dir / "gens").glob("[0-9]*") if path.name.isdigit())
    for number in [n for n in numbers if n <= keep][:-KEPT] + [n for n in numbers if n > keep]:
        gen = folder(index_dir, number)
        with locks.unused(gen / "LEASE") as free:
            if free:
                shutil.rmtree(gen, ignore_errors=True)


def clone(source: Path, target: Path, copied: Callable[[str], bool]) -> None:
    """The files of `source` in `target`: hard links, or copies where `copied` says so or links are not to be had."""
    for name in _names(source):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if copied(name):
            shutil.copy2(source / name, target / name)
            continue
        try:
            os.link(source / name, target / name)
        except OSError:
            shutil.copy2(source / name, target / name)


def _names(top: Path) -> list[str]:
    # A lock belongs to a file's inode: linked into two generations it would tie them together.
    return [str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() and path.suffix != ".lock"]


def _entry(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": digest(path)}


def _sync_tree(top: Path) -> None:
    for parent, _, names in os.walk(top):
        for name in names:
            _sync(Path(parent, name))
        _sync(Path(parent))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
