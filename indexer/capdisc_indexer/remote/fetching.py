"""Copy a published generation out of the store: checked piece by piece, and complete or not there at all."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from capdisc_indexer.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.remote import layout
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.store import collecting, disk, generation, leases, publication

_AT_ONCE = 8


def fetch(bucket: Bucket, text: str, index_dir: Path) -> None:
    """Make the generation that the pointer's `text` names the published one of the folder, whose write lock the caller
    holds. Raises MissingError when it was removed meanwhile, IndexStateError when it is not what it should be."""
    number, digest = layout.pointed(text)
    source = layout.folder_name(number, digest)
    manifest = bucket.read(f"{source}/MANIFEST", layout.MAX_MANIFEST_BYTES)
    files = layout.files_of(manifest, digest)
    with disk.named(index_dir):
        collecting.sweep(index_dir)
        _make_way(index_dir, number)
        with publication.building(index_dir) as temporary:
            _check_room(temporary, files)
            _download(bucket, source, files, temporary)
            publication.adopt(index_dir, temporary, manifest, number)
        collecting.collect(index_dir, number)


def _make_way(index_dir: Path, number: int) -> None:
    """Remove what has the number already: the copy of an index that was begun anew in the store, or a damaged one."""
    old = generation.folder(index_dir, number)
    with leases.unused(old / "LEASE") as free:
        if not free:
            raise IndexStateError(f"generation {number} of the shared index is another one now", "try again")
        shutil.rmtree(old, ignore_errors=True)


def _check_room(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    wanted, free = sum(size for size, _ in files.values()), shutil.disk_usage(folder).free
    if wanted > free:
        what = f"the shared index has {wanted / 1e6:,.0f} MB, and {folder} has room for {free / 1e6:,.0f}"
        raise IndexStateError(what, "free some space there, or name another cache folder with XDG_CACHE_HOME")


def _download(bucket: Bucket, source: str, files: Mapping[str, tuple[int, str]], target: Path) -> None:
    for parent in {(target / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    largest_first = sorted(files, key=lambda name: -files[name][0])
    at_once(lambda name: _one(bucket, f"{source}/{name}", target / name, *files[name]), largest_first)


def _one(bucket: Bucket, name: str, target: Path, size: int, sha256: str) -> None:
    """An empty file is made here: the store need not have it."""
    found = hashlib.sha256()
    with target.open("xb") as out:
        for piece in bucket.pieces(name, size):
            found.update(piece)
            out.write(piece)
        written = out.tell()
    if written != size or found.hexdigest() != sha256:
        what = f"the shared index is damaged: {name} does not match its digest"
        raise DamagedIndexError(what, layout.REBUILD)


def at_once(work: Callable[[str], None], names: list[str]) -> None:
    """Do the work for every name, some at a time; the first error ends it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = [pool.submit(work, name) for name in names]
        try:
            for each in waiting:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
