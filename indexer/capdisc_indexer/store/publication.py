"""Build the next generation in a hidden folder and publish it by one rename. The order of syncs is
the guarantee.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.types import Generation
from capdisc_indexer.store import durable_files, locks, native_errors
from capdisc_indexer.store.generation import SCHEMA_VERSION, generation_folder

# What killed writers and newer generations leave behind, removed. The caller holds the write lock.

KEPT_GENERATIONS = 2


def generation_numbers(index_dir: Path) -> list[int]:
    """Every generation on disk, published or not."""
    return sorted(
        int(path.name) for path in (index_dir / "gens").glob("[0-9]*") if path.name.isdigit()
    )


def surplus_generations(index_dir: Path, published_number: int) -> list[int]:
    """The generations that nothing needs: older than the newest two, or never pointed to."""
    existing = generation_numbers(index_dir)
    return [n for n in existing if n <= published_number][:-KEPT_GENERATIONS] + [
        n for n in existing if n > published_number
    ]


def list_unfinished(index_dir: Path) -> list[Path]:
    """What a writer makes and takes away again, unless it is killed."""
    return [*(index_dir / "gens").glob(".tmp-*"), *index_dir.glob(".*.new")]


def sweep(index_dir: Path) -> None:
    """Remove what killed writers left unfinished."""
    for leftover in list_unfinished(index_dir):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with suppress(OSError):
                leftover.unlink()


def collect(index_dir: Path, published_number: int) -> None:
    """Remove the surplus generations, but for those that a reader still holds a lease on."""
    for number in surplus_generations(index_dir, published_number):
        gen = generation_folder(index_dir, number)
        with locks.try_exclusive(gen / "LEASE") as free:
            if free:
                shutil.rmtree(gen, ignore_errors=True)


@contextmanager
def staging_folder(index_dir: Path) -> Iterator[Path]:
    """A hidden folder to build the next generation in; removed on failure. The caller holds the
    write lock.
    """
    gens = index_dir / "gens"
    durable_files.make_private_folder(gens)
    temporary = gens / f".tmp-{os.getpid()}"
    temporary.mkdir(mode=0o700)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def publish_folder(
    index_dir: Path,
    temporary: Path,
    facts: Mapping[str, Any],
    number: int,
    previous: Generation | None = None,
) -> Generation:
    """Make the built folder the published generation: digests, sync, rename, pointer, sync, in
    this order.

    Of what is linked from the `previous` generation, the digests are those that it was published
    with.
    """
    (temporary / "LEASE").touch(mode=0o600)
    previous_files = (
        (generation_folder(index_dir, previous.number), previous.files)
        if previous
        else (temporary, {})
    )
    files = {
        name: _find_linked_entry(temporary, name, *previous_files) or _make_entry(temporary / name)
        for name in sorted(_file_names(temporary))
    }
    manifest = json.dumps(
        {"schema_version": SCHEMA_VERSION, **facts, "files": files}, indent=1, sort_keys=True
    ).encode()
    adopt_folder(index_dir, temporary, manifest, number)
    return Generation(number=number, schema_version=SCHEMA_VERSION, files=files, **facts)


def adopt_folder(index_dir: Path, temporary: Path, manifest: bytes, number: int) -> None:
    """Make the folder with all the files of the manifest the published generation."""
    (temporary / "MANIFEST").write_bytes(manifest)
    durable_files.sync_tree(temporary)
    final = generation_folder(index_dir, number)
    temporary.rename(final)
    durable_files.sync_folder(final.parent)
    write_pointer(index_dir, format_pointer(number, manifest))


def format_pointer(number: int, manifest: bytes) -> str:
    """What the pointer says of the generation with this manifest."""
    return f"{number} {hashlib.sha256(manifest).hexdigest()}\n"


def write_pointer(index_dir: Path, line: str) -> None:
    """Make the pointer say this, and keep it so through a power cut."""
    durable_files.replace_file(index_dir / "CURRENT", line.encode())
    try:
        durable_files.sync_folder(index_dir)
    except OSError as error:
        number = line.split(maxsplit=1)[0]
        raise IndexStateError(
            f"generation {number} answers now, but {index_dir} could not be synced ({error.strerror}): "
            "a power cut may bring the last one back",
            "see the kernel's log (dmesg) about that disk, then run: capdisc index --rebuild",
        ) from error


def next_number(index_dir: Path) -> int:
    """One more than any generation on disk, so that a number never means two different states."""
    return 1 + max(generation_numbers(index_dir), default=0)


def clone_folder(source: Path, target: Path, copied: Callable[[str], bool]) -> None:
    """The files of `source` in `target`: hard links, or copies where `copied` says so or links are
    not to be had.
    """
    for name in _file_names(source):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if copied(name):
            shutil.copyfile(source / name, target / name)
            continue
        try:
            os.link(source / name, target / name)
        except OSError:
            shutil.copyfile(source / name, target / name)


def _file_names(top: Path) -> list[str]:
    # A lock belongs to a file's inode: linked into two generations it would tie them together.
    return [
        str(path.relative_to(top))
        for path in top.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    ]


def _find_linked_entry(
    temporary: Path, name: str, previous_folder: Path, files: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The entry of a file that is one with the last generation's of this name."""
    if name not in files or not (temporary / name).samefile(previous_folder / name):
        return None
    entry: dict[str, Any] = files[name]
    return entry


def _make_entry(path: Path) -> dict[str, Any]:
    return {"size": path.stat().st_size, "sha256": native_errors.file_digest(path)}
