"""The table of vectors of a shared index: LanceDB writes it to the store, and the next writer
reads it there.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import DamagedIndexError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.remote import remote_types
from capdisc_indexer.remote.bucket import translate_store_errors
from capdisc_indexer.remote.remote_types import SharedIndex
from capdisc_indexer.store import file_states, vector_table
from capdisc_indexer.store.native_errors import translate_native_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen(kw_only=True)
class VectorRows(vector_table.VectorBatch):
    """All rows of a table."""

    def facts(self) -> bytes:
        """The number of the rows and a digest of everything in them, as JSON."""
        digest = hashlib.sha256()
        for row in zip(self.ids, self.parts, self.hashes, strict=True):
            digest.update(json.dumps(row).encode())
        digest.update(self.vectors.astype("<f4", copy=False).tobytes())
        return json.dumps({"rows": len(self.ids), "sha256": digest.hexdigest()}).encode()


def load_local_rows(folder: Path) -> VectorRows:
    """The rows of a local generation, in the order of its capabilities."""
    files = file_states.load_states(folder / "meta" / "files.json").files
    texts = file_states.text_hashes_by_id(files)
    rows = [
        (key, part, text_hash)
        for key, hashes in texts.items()
        for part, text_hash in enumerate(hashes)
    ]
    row_of_hash, vectors = _load_local_vectors(folder)
    return VectorRows(
        ids=[key for key, _, _ in rows],
        parts=[part for _, part, _ in rows],
        hashes=[text_hash for *_, text_hash in rows],
        vectors=vectors[[row_of_hash[text_hash] for *_, text_hash in rows]].reshape(
            len(rows), vectors.shape[1]
        ),
    )


def _load_local_vectors(folder: Path) -> tuple[dict[str, int], NDArray[Any]]:
    """The row of each text by its hash, and the vectors (n, dim) float32: those of the local
    table, then those that lie beside it.
    """
    np = lazy_imports.numpy()
    hashes, pending = vector_table.read_pending(folder / remote_types.PENDING)
    batches = list(vector_table.read_batches(folder / remote_types.VECTORS))
    dim = batches[0][1].shape[1] if batches else len(pending) // max(len(hashes), 1)
    batches.append((hashes, np.frombuffer(pending, np.float32).reshape(len(hashes), dim)))
    row_of_hash = {
        text_hash: row for row, text_hash in enumerate(key for keys, _ in batches for key in keys)
    }
    return row_of_hash, np.concatenate([vectors for _, vectors in batches])


def write(shared: SharedIndex, generation: str, rows: VectorRows) -> None:
    """Writes the table of the generation whose objects lie below `generation`. Raises
    StoreError.
    """
    with translate_store_errors(shared, remote_types.VECTORS):
        vector_table.create_table(
            _connect(shared, generation), rows.vectors.shape[1], lambda: [rows]
        )


def read(shared: SharedIndex, generation: str, facts: bytes) -> VectorRows:
    """The rows of that table. Raises DamagedIndexError unless they match `facts`."""
    with translate_native_errors(
        "the shared index's table of vectors cannot be read", remote_types.REBUILD_HINT
    ):
        table = _connect(shared, generation).open_table(vector_table.TABLE_NAME).to_arrow()
        flat = table.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        dim = table.schema.field("vector").type.list_size
        ids, parts, hashes = (
            table.column(name).to_pylist() for name in ("id", "part", "text_hash")
        )
    rows = VectorRows(ids=ids, parts=parts, hashes=hashes, vectors=flat.reshape(len(ids), dim))
    if rows.facts() != facts:
        raise DamagedIndexError(
            "the shared index's table of vectors does not match its digest",
            remote_types.REBUILD_HINT,
        )
    return rows


def count(shared: SharedIndex, generation: str) -> int:
    """How many rows the table has in the store."""
    with translate_store_errors(shared, remote_types.VECTORS):
        return int(_connect(shared, generation).open_table(vector_table.TABLE_NAME).count_rows())


def restore_rows(rows: VectorRows, folder: Path) -> None:
    """Writes the rows into the folder of a local generation, where a build looks for vectors that
    it need not encode.
    """
    vector_table.write_table(folder / remote_types.VECTORS, rows.vectors.shape[1], lambda: [rows])


def _connect(shared: SharedIndex, generation: str) -> Any:
    access = shared.access
    options = {
        **access.options,
        "allow_http": str(access.allow_http).lower(),
        "connect_timeout": "5s",
    }
    url = f"{shared.url}/{generation}/{remote_types.VECTORS}"
    return lazy_imports.lancedb().connect(url, storage_options=options)
