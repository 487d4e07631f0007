"""Copies a published generation out of the store: checked file by file, and complete or not there
at all.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from capdisc_indexer.model.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.remote import remote_types
from capdisc_indexer.remote.bucket import Bucket
from capdisc_indexer.remote.remote_types import PublishedFile
from capdisc_indexer.store import durable_files, generation, locks, publication

_MAX_TRANSFERS = 8


def download_generation(bucket: Bucket, pointer_text: str, index_dir: Path) -> None:
    """Makes the generation that the pointer names the published one of the folder, whose write
    lock the caller holds.

    Raises MissingObjectError where it was removed meanwhile, IndexStateError where it is not what
    its manifest says.
    """
    number, digest = remote_types.parse_pointer(pointer_text)
    source = remote_types.generation_path(number, digest)
    manifest = bucket.read(f"{source}/MANIFEST", remote_types.MAX_MANIFEST_BYTES)
    files = remote_types.manifest_files(manifest, digest)
    with durable_files.translate_disk_errors(index_dir):
        publication.sweep(index_dir)
        _remove_conflicting(index_dir, number)
        with publication.staging_folder(index_dir) as folder:
            _check_disk_space(folder, files)
            _download_files(bucket, source, files, folder)
            publication.adopt_folder(index_dir, folder, manifest, number)
        publication.collect(index_dir, number)


def _remove_conflicting(index_dir: Path, number: int) -> None:
    """Removes the generation that has the number already: the copy of an index that was begun anew
    in the store, or a damaged one.
    """
    old_folder = generation.generation_folder(index_dir, number)
    with locks.try_exclusive(old_folder / "LEASE") as is_free:
        if not is_free:
            raise IndexStateError(
                f"generation {number} of the shared index is another one now", "try again"
            )
        shutil.rmtree(old_folder, ignore_errors=True)


def _check_disk_space(folder: Path, files: Mapping[str, PublishedFile]) -> None:
    needed = sum(file.size for file in files.values())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise IndexStateError(
            f"the shared index has {needed / 1e6:,.0f} MB, and {folder} has room for {free / 1e6:,.0f}",
            "free some space there, or name another cache folder with XDG_CACHE_HOME",
        )


def _download_files(
    bucket: Bucket, source: str, files: Mapping[str, PublishedFile], folder: Path
) -> None:
    for parent in {(folder / name).parent for name in files}:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    largest_first = sorted(files, key=lambda name: -files[name].size)
    run_parallel(
        lambda name: _download_file(bucket, f"{source}/{name}", folder / name, files[name]),
        largest_first,
    )


def _download_file(bucket: Bucket, name: str, target: Path, file: PublishedFile) -> None:
    """Makes an empty file without a request: the store need not have it."""
    hasher = hashlib.sha256()
    with target.open("xb") as stream:
        for chunk in bucket.read_chunks(name, file.size):
            hasher.update(chunk)
            stream.write(chunk)
        written_bytes = stream.tell()
    if written_bytes != file.size or hasher.hexdigest() != file.sha256:
        message = f"the shared index is damaged: {name} does not match its digest"
        raise DamagedIndexError(message, remote_types.REBUILD_HINT)


def run_parallel(work: Callable[[str], None], names: list[str]) -> None:
    """Does the work for every name, _MAX_TRANSFERS at a time; the first error ends it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MAX_TRANSFERS) as pool:
        futures = [pool.submit(work, name) for name in names]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
