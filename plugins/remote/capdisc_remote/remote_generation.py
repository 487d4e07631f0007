"""A published generation in the object store: copied out of it, checked file by file, and complete
or not there at all; and its table, which LanceDB writes to the store.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.model.types import Generation, ProducerEdge
from capdisc_indexer.store import (
    durable_files,
    generation,
    lance_table,
    locks,
    publication,
)
from capdisc_indexer.store.passages import Passages
from capdisc_indexer.store.shared_index import SharedIndex
from capdisc_indexer.store.snapshot import PRODUCERS_FILE, Index, find_producer_edges
from capdisc_remote import store_layout
from capdisc_remote.bucket import Bucket, translate_store_errors
from capdisc_remote.store_layout import PublishedFile

_MAX_TRANSFERS = 8
_MAX_FILE_BYTES = 64 << 20


def download_generation(bucket: Bucket, pointer_text: str, index_dir: Path) -> None:
    """Makes the generation that the pointer names the published one of the folder, whose write
    lock the caller holds.

    Raises MissingObjectError where it was removed meanwhile, IndexStateError where it is not what
    its manifest says.
    """
    pointer = store_layout.parse_pointer(pointer_text)
    manifest, files = _read_manifest(bucket, pointer)
    number, source = pointer.number, pointer.folder
    with durable_files.translate_disk_errors(index_dir):
        publication.sweep(index_dir)
        _remove_conflicting(index_dir, number)
        with publication.staging_folder(index_dir) as folder:
            _check_disk_space(folder, files)
            _download_files(bucket, source, files, folder)
            publication.adopt_folder(index_dir, folder, manifest, number)
        publication.collect(index_dir, number)


def _read_manifest(
    bucket: Bucket, pointer: store_layout.Pointer
) -> tuple[bytes, dict[str, PublishedFile]]:
    manifest = bucket.read(f"{pointer.folder}/MANIFEST", store_layout.MAX_MANIFEST_BYTES)
    return manifest, store_layout.manifest_files(manifest, pointer.digest)


def _remove_conflicting(index_dir: Path, number: int) -> None:
    """Removes the generation that has the number already: the copy of an index that was started
    again in the store, or a damaged one.
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
        raise DamagedIndexError(message, store_layout.REBUILD_HINT)


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


def write(shared: SharedIndex, remote_folder: str, index_dir: Path) -> None:
    """Writes the table of the published generation of a local index into the store, below
    `remote_folder`. Raises StoreError.
    """
    from capdisc_indexer.indexing.table_update import RowSource  # all that makes documents

    with Index(index_dir) as index, translate_store_errors(shared, store_layout.TABLE):
        source = RowSource(index)
        lance_table.create_table(
            _connect(shared, remote_folder),
            source.dim,
            source.all_rows(),
            in_store=True,
        )


def count(shared: SharedIndex, remote_folder: str) -> int:
    """How many vectors of capabilities the table has in the store."""
    with translate_store_errors(shared, store_layout.TABLE):
        condition = f"NOT {lance_table.has_label([lance_table.ROW_PASSAGE])}"
        return int(open_table(shared, remote_folder).count_rows(condition))


def open_table(shared: SharedIndex, remote_folder: str) -> Any:
    """The table of the generation whose objects lie below `remote_folder`."""
    return _connect(shared, remote_folder).open_table(lance_table.TABLE_NAME)


def _connect(shared: SharedIndex, remote_folder: str) -> Any:
    access = shared.access
    options = {
        **access.options,
        "allow_http": str(access.allow_http).lower(),
        "connect_timeout": "5s",
    }
    url = f"{shared.url}/{remote_folder}/{store_layout.TABLE}"
    return lazy_imports.lancedb().connect(url, storage_options=options)


# A shared index that answers from the store, without a copy of it here.


class InPlaceIndex(Index):
    """The published generation of a shared index, read where it lies. The table answers for text
    index and matrix alike; of the other files only small ones are read, when they are needed, each
    checked against its digest. Passages of bodies are not searched this way, and phrases are not
    compared together.

    Raises StoreError when the store does not answer, IndexStateError for a generation without a
    table: an index without vectors, or of an earlier release.
    """

    def __init__(self, shared: SharedIndex) -> None:
        from capdisc_indexer.store.table_search import TableSearch
        from capdisc_remote.table_documents import TableDocuments, decode_frequencies

        self.index_dir = shared.copy
        self._bucket = Bucket(shared)
        version = self._bucket.read_pointer()
        pointer = store_layout.parse_pointer(version.text if version else "")
        self._remote_folder = pointer.folder
        manifest, self._files = _read_manifest(self._bucket, pointer)
        self.generation = Generation(number=pointer.number, **generation.parse_manifest(manifest))
        self.folder = shared.copy
        self._meta: dict[str, Any] = {}
        self._columns = None
        self._producers: bytes | None = None
        self._passages = None
        self.matrix = None
        counts = self.generation.counts
        if store_layout.TERMS_FILE not in self._files or not counts["dim"]:
            raise IndexStateError(
                "this shared index has no table to query in place", "leave out --engine lancedb"
            )
        with translate_store_errors(shared, store_layout.TABLE):
            table = open_table(shared, self._remote_folder)
        self.table = TableSearch(table, has_passages=bool(counts["passages"]))
        self.documents = TableDocuments(
            table,
            self.table,
            decode_frequencies(self._read(store_layout.TERMS_FILE)),
            counts["capabilities"],
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, name: str) -> bytes:
        """A file of the generation. Raises DamagedIndexError where its digest is another one."""
        data = self._bucket.read(f"{self._remote_folder}/{name}", _MAX_FILE_BYTES)
        if hashlib.sha256(data).hexdigest() != self._files[name].sha256:
            raise DamagedIndexError(
                f"the shared index is damaged: {name} does not match its digest",
                store_layout.REBUILD_HINT,
            )
        return data

    def meta(self, name: str) -> Any:
        """One of the small JSON files that the build wrote (`meta/NAME.json`), read once."""
        if name not in self._meta:
            self._meta[name] = json.loads(self._read(f"meta/{name}.json"))
        return self._meta[name]

    def producers(self, identifier: str) -> tuple[ProducerEdge, ...]:
        """The capabilities that give what this one needs, surest first."""
        if self._producers is None:
            name = f"meta/{PRODUCERS_FILE}"
            self._producers = self._read(name) if name in self._files else b""
        return find_producer_edges(self._producers, identifier)

    @property
    def passages(self) -> Passages | None:
        """None: they lie in a text index of their own."""
        return None

    @property
    def has_vectors(self) -> bool:
        """True: without vectors there is no table."""
        return True

    def _check_not_held(self, name: str) -> None:
        pass  # The states of files are large, and only an error needs them.
