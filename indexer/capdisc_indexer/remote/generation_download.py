"""Copy a published generation out of the store: checked piece by piece, and complete or not there
at all.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from capdisc_indexer.model.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.remote import bucket_layout
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.store import durable_files, generation, locks, publication

_MAX_TRANSFERS = 8


def download_generation(bucket: Bucket, text: str, index_dir: Path) -> None:
    """Make the generation that the pointer's `text` names the published one of the folder, whose
    write lock the caller holds. Raises MissingError when it was removed meanwhile, IndexStateError
    when it is not what it should be.
    """
    number, digest = bucket_layout.parse_pointer(text)
    source = bucket_layout.generation_path(number, digest)
    manifest = bucket.read(f"{source}/MANIFEST", bucket_layout.MAX_MANIFEST_BYTES)
    files = bucket_layout.manifest_files(manifest, digest)
    with durable_files.translate_disk_errors(index_dir):
        publication.sweep(index_dir)
        _remove_conflicting(index_dir, number)
        with publication.staging_folder(index_dir) as temporary:
            _check_disk_space(temporary, files)
            _download_files(bucket, source, files, temporary)
            publication.adopt_folder(index_dir, temporary, manifest, number)
        publication.collect(index_dir, number)


def _remove_conflicting(index_dir: Path, number: int) -> None:
    """Remove what has the number already: the copy of an index that was begun anew in the store,
    or a damaged one.
    """
    old = generation.generation_folder(index_dir, number)
    with locks.try_exclusive(old / "LEASE") as free:
        if not free:
            raise IndexStateError(
                f"generation {number} of the shared index is another one now", "try again"
            )
        shutil.rmtree(old, ignore_errors=True)


def _check_disk_space(folder: Path, files: Mapping[str, tuple[int, str]]) -> None:
    needed, free = sum(size for size, _ in files.values()), shutil.disk_usage(folder).free
    if needed > free:
        message = f"the shared index has {needed / 1e6:,.0f} MB, and {folder} has room for {free / 1e6:,.0f}"
        raise IndexStateError(
            message, "free some space there, or name another cache folder with XDG_CACHE_HOME"
        )


def _download_files(
    bucket: Bucket, source: str, files: Mapping[str, tuple[int, str]], target: Path
) -> None:
    for parent in {(target / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    largest_first = sorted(files, key=lambda name: -files[name][0])
    run_parallel(
        lambda name: _download_file(bucket, f"{source}/{name}", target / name, *files[name]),
        largest_first,
    )


def _download_file(bucket: Bucket, name: str, target: Path, size: int, sha256: str) -> None:
    """An empty file is made here: the store need not have it."""
    hasher = hashlib.sha256()
    with target.open("xb") as out:
        for piece in bucket.read_chunks(name, size):
            hasher.update(piece)
            out.write(piece)
        written = out.tell()
    if written != size or hasher.hexdigest() != sha256:
        message = f"the shared index is damaged: {name} does not match its digest"
        raise DamagedIndexError(message, bucket_layout.REBUILD_HINT)


def run_parallel(work: Callable[[str], None], names: list[str]) -> None:
    """Do the work for every name, some at a time; the first error ends it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MAX_TRANSFERS) as pool:
        waiting = [pool.submit(work, name) for name in names]
        try:
            for future in waiting:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
