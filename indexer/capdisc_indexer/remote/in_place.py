"""A shared index that answers from the object store, without a copy of it here.

The table answers for text index and matrix alike; of the other files only small ones are read, when
they are needed, each checked against its digest. Passages of bodies are not searched this way.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from capdisc_indexer import remote
from capdisc_indexer.model.errors import DamagedIndexError, IndexStateError
from capdisc_indexer.model.types import Generation, ProducerEdge
from capdisc_indexer.remote import SharedIndex, remote_generation
from capdisc_indexer.remote.bucket import Bucket, translate_store_errors
from capdisc_indexer.store import generation
from capdisc_indexer.store.passages import Passages
from capdisc_indexer.store.snapshot import PRODUCERS_FILE, Index, find_producer_edges
from capdisc_indexer.store.table_documents import TableDocuments, decode_frequencies
from capdisc_indexer.store.table_search import TableSearch

_MAX_FILE_BYTES = 64 << 20


class InPlaceIndex(Index):
    """The published generation of a shared index, read where it lies.

    Raises StoreError when the store does not answer, IndexStateError for a generation without a
    table: an index without vectors, or of an earlier release.
    """

    def __init__(self, shared: SharedIndex) -> None:
        self.index_dir = shared.copy
        self._bucket = Bucket(shared)
        pointer = self._bucket.read_pointer()
        number, digest = remote.parse_pointer(pointer.text if pointer else "")
        self._remote_folder = remote.generation_path(number, digest)
        manifest = self._bucket.read(f"{self._remote_folder}/MANIFEST", remote.MAX_MANIFEST_BYTES)
        self._files = remote.manifest_files(manifest, digest)
        self.generation = Generation(number=number, **generation.parse_manifest(manifest))
        self.folder = shared.copy
        self._meta: dict[str, Any] = {}
        self._columns = None
        self._producers: bytes | None = None
        self._passages = None
        counts = self.generation.counts
        if remote.TERMS_FILE not in self._files or not counts["dim"]:
            raise IndexStateError(
                "this shared index has no table to query in place", "leave out --engine lancedb"
            )
        with translate_store_errors(shared, remote.TABLE):
            table = remote_generation.open_table(shared, self._remote_folder)
        self.table = TableSearch(table, has_passages=bool(counts["passages"]))
        self.documents = TableDocuments(
            table,
            self.table,
            decode_frequencies(self._read(remote.TERMS_FILE)),
            counts["capabilities"],
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _read(self, name: str) -> bytes:
        """A file of the generation. Raises DamagedIndexError unless it has its published digest."""
        data = self._bucket.read(f"{self._remote_folder}/{name}", _MAX_FILE_BYTES)
        if hashlib.sha256(data).hexdigest() != self._files[name].sha256:
            raise DamagedIndexError(
                f"the shared index is damaged: {name} does not match its digest",
                remote.REBUILD_HINT,
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
