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

from capdisc_indexer.errors import IndexStateError
from capdisc_indexer.store import collecting, durable, integrity, permissions
from capdisc_indexer.store.generation import SCHEMA_VERSION, folder
from capdisc_indexer.types import Generation


@contextmanager
def building(index_dir: Path) -> Iterator[Path]:
    """A hidden folder to build the next generation in; removed on failure. The caller holds the write lock."""
    gens = index_dir / "gens"
    permissions.private_folder(gens)
    temporary = gens / f".tmp-{os.getpid()}"
    temporary.mkdir(mode=0o700)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def publish(
    index_dir: Path, temporary: Path, facts: Mapping[str, Any], number: int, last: Generation | None = None
) -> Generation:
    """Make the built folder the published generation: digests, sync, rename, pointer, sync, in this order.

    Of what is linked from the `last` generation, the digests are those that it was published with.
    """
    (temporary / "LEASE").touch(mode=0o600)
    before = (folder(index_dir, last.number), last.files) if last else (temporary, {})
    files = {name: _known(temporary, name, *before) or _entry(temporary / name) for name in sorted(_names(temporary))}
    manifest = json.dumps(
        {"schema_version": SCHEMA_VERSION, **facts, "files": files}, indent=1, sort_keys=True
    ).encode()
    adopt(index_dir, temporary, manifest, number)
    return Generation(number=number, schema_version=SCHEMA_VERSION, files=files, **facts)


def adopt(index_dir: Path, temporary: Path, manifest: bytes, number: int) -> None:
    """Make the folder with all the files of the manifest the published generation."""
    (temporary / "MANIFEST").write_bytes(manifest)
    durable.settle_tree(temporary)
    final = folder(index_dir, number)
    temporary.rename(final)
    durable.sync_folder(final.parent)
    point(index_dir, pointer_line(number, manifest))


def pointer_line(number: int, manifest: bytes) -> str:
    """What the pointer says of the generation with this manifest."""
    return f"{number} {hashlib.sha256(manifest).hexdigest()}\n"


def point(index_dir: Path, line: str) -> None:
    """Make the pointer say this, and keep it so through a power cut."""
    durable.replace(index_dir / "CURRENT", line.encode())
    try:
        durable.sync_folder(index_dir)
    except OSError as error:
        number = line.split(maxsplit=1)[0]
        raise IndexStateError(
            f"generation {number} answers now, but {index_dir} could not be synced ({error.strerror}): "
            "a power cut may bring the last one back",
            "see the kernel's log (dmesg) about that disk, then run: capdisc index --rebuild",
        ) from error


def next_number(index_dir: Path) -> int:
    """One more than any generation on disk, so that a number never means two different states."""
    return 1 + max(collecting.numbers(index_dir), default=0)


def clone(source: Path, target: Path, copied: Callable[[str], bool]) -> None:
    """The files of `source` in `target`: hard links, or copies where `copied` says so or links are not to be had."""
    for name in _names(source):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if copied(name):
            shutil.copyfile(source / name, target / name)
            continue
        try:
            os.link(source / name, target / name)
        except OSError:
            shutil.copyfile(source / name, target / name)


def _names(top: Path) -> list[str]:
    # A lock belongs to a file's inode: linked into two generations it would tie them together.
    return [str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() and path.suffix != ".lock"]


def _known(temporary: Path, name: str, before: Path, files: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry of a file that is one with the last generation's of this name."""
    if name not in files or not (temporary / name).samefile(before / name):
        return None
    entry: dict[str, Any] = files[name]
    return entry


def _entry(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": integrity.digest(path)}
