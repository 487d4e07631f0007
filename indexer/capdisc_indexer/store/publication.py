"""Publishes a generation that was built in a hidden folder, and removes old and unfinished ones.

The order of syncs and renames guarantees that a power cut leaves a whole generation.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.json_types import BuildFacts, FileEntry, Manifest
from capdisc_indexer.model.types import Generation
from capdisc_indexer.platforms import system
from capdisc_indexer.store import durable_files, locks, native_errors
from capdisc_indexer.store.generation import SCHEMA_VERSION, generation_folder

KEPT_GENERATIONS = 2


def generation_numbers(index_dir: Path) -> list[int]:
    """The numbers of all generations on disk in order, published or not."""
    return sorted(
        int(path.name) for path in (index_dir / "gens").glob("[0-9]*") if path.name.isdigit()
    )


def surplus_generations(index_dir: Path, published_number: int) -> list[int]:
    """The generations that no reader needs: older than the newest two, or never published."""
    existing = generation_numbers(index_dir)
    return [n for n in existing if n <= published_number][:-KEPT_GENERATIONS] + [
        n for n in existing if n > published_number
    ]


def list_unfinished(index_dir: Path) -> list[Path]:
    """The temporary files and folders of writers; without a writer, those of killed ones."""
    return [*(index_dir / "gens").glob(".tmp-*"), *index_dir.glob(".*.new")]


def sweep(index_dir: Path) -> None:
    """Remove the files of killed writers. The caller holds the write lock."""
    for leftover in list_unfinished(index_dir):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            with suppress(OSError):
                leftover.unlink()
    with suppress(OSError):  # of indexes before schema 21
        (index_dir / "folders.json").unlink()


def collect(index_dir: Path, published_number: int) -> None:
    """Remove the surplus generations on which no reader holds a lease. The caller holds the write
    lock.
    """
    for number in surplus_generations(index_dir, published_number):
        gen = generation_folder(index_dir, number)
        with locks.try_exclusive(gen / "LEASE") as is_free:
            if is_free:
                shutil.rmtree(gen, ignore_errors=True)
        if is_free:  # on Windows the folder stays until its lease is closed
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
    facts: BuildFacts,
    number: int,
    previous: Generation | None = None,
    previous_folder: Path | None = None,
) -> Generation:
    """Make the built folder the published generation: digests, sync, rename, pointer, sync, in
    this order.

    Files that are hard links to those of the `previous` generation keep their digests.
    """
    (temporary / "LEASE").touch(mode=0o600)
    files: dict[str, FileEntry] = {}
    for name in sorted(_file_names(temporary)):
        entry = previous.files.get(name) if previous and previous_folder else None
        is_linked = entry and (temporary / name).samefile(f"{previous_folder}/{name}")
        files[name] = entry if entry and is_linked else _make_entry(temporary / name)
    manifest: Manifest = {"schema_version": SCHEMA_VERSION, **facts, "files": files}
    encoded_manifest = json.dumps(manifest, indent=1, sort_keys=True).encode()
    adopt_folder(index_dir, temporary, encoded_manifest, number)
    return Generation(number=number, **manifest)


def adopt_folder(index_dir: Path, temporary: Path, manifest: bytes, number: int) -> None:
    """Make a folder with all files of the manifest the published generation."""
    (temporary / "MANIFEST").write_bytes(manifest)
    durable_files.sync_tree(temporary)
    final = generation_folder(index_dir, number)
    system.replace(temporary, final)
    system.sync_folder(final.parent)
    write_pointer(index_dir, format_pointer(number, manifest))


def format_pointer(number: int, manifest: bytes) -> str:
    """The content of CURRENT for the generation with this manifest."""
    return f"{number} {hashlib.sha256(manifest).hexdigest()}\n"


def write_pointer(index_dir: Path, line: str) -> None:
    """Replace CURRENT durably. Raises IndexStateError when its name could not be synced."""
    durable_files.replace_file(index_dir / "CURRENT", line.encode())
    try:
        system.sync_folder(index_dir)
    except OSError as error:
        number = line.split(maxsplit=1)[0]
        raise IndexStateError(
            f"generation {number} answers now, but {index_dir} could not be synced "
            f"({error.strerror}): a power cut may bring the last one back",
            "see the kernel's log (dmesg) about that disk, then run: capdisc index --rebuild",
        ) from error


def next_number(index_dir: Path) -> int:
    """A number above all generations on disk, so that a number never means two states."""
    return 1 + max(generation_numbers(index_dir), default=0)


# What tantivy replaces in the folder of an index; it never changes its other files.
_REWRITTEN_TEXT_FILES = frozenset({"meta.json", ".managed.json"})


def clone_folder(source: Path, target: Path, must_copy: Callable[[str], bool]) -> None:
    """Put the files of `source` into `target`: as hard links, or as copies where `must_copy` says
    so or links are impossible.
    """
    for name in _file_names(source):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if must_copy(name):
            shutil.copyfile(source / name, target / name)
        else:
            link_file(source / name, target / name)


def link_folder(source: Path, target: Path) -> None:
    """Put the files of `source`, which need not exist, into `target` as hard links."""
    clone_folder(source, target, lambda name: False)


def clone_text_index(source: Path, target: Path) -> None:
    """Put the files of a text index into `target`: as hard links, but for those that tantivy
    writes over.
    """
    clone_folder(source, target, _REWRITTEN_TEXT_FILES.__contains__)


def link_file(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy where links are impossible."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _file_names(top: Path) -> list[str]:
    # A lock belongs to an inode: a lock file linked into two generations would lock both.
    return [
        path.relative_to(top).as_posix()
        for path in top.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    ]


def _make_entry(path: Path) -> FileEntry:
    return {"size": path.stat().st_size, "sha256": native_errors.file_digest(path)}
