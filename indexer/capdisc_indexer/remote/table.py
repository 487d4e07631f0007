"""The vectors' table of a shared index: written to the store by LanceDB, and read from there by the next writer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines, state
from capdisc_indexer.containment import contained
from capdisc_indexer.errors import DamagedIndexError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.remote import layout
from capdisc_indexer.remote.answers import said
from capdisc_indexer.remote.values import Shared
from capdisc_indexer.store import pending, vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray


@frozen(kw_only=True)
class Rows(vectors.Batch):
    """All rows of a table."""

    def facts(self) -> bytes:
        """Their number, and a digest of all that they hold."""
        digest = hashlib.sha256()
        for row in zip(self.ids, self.parts, self.hashes, strict=True):
            digest.update(json.dumps(row).encode())
        digest.update(self.vectors.astype("<f4", copy=False).tobytes())
        return json.dumps({"rows": len(self.ids), "sha256": digest.hexdigest()}).encode()


def rows_of(folder: Path) -> Rows:
    """The rows of a local generation, in the order of its capabilities."""
    files = state.load(folder / "meta" / "files.json").files
    texts = state.wanted_texts(files)
    rows = [(key, part, text_hash) for key, hashes in texts.items() for part, text_hash in enumerate(hashes)]
    known, found = _known(folder)
    return Rows(
        ids=[key for key, _, _ in rows],
        parts=[part for _, part, _ in rows],
        hashes=[text_hash for *_, text_hash in rows],
        vectors=found[[known[text_hash] for *_, text_hash in rows]].reshape(len(rows), found.shape[1]),
    )


def _known(folder: Path) -> tuple[dict[str, int], NDArray[Any]]:
    """The row of each text, and the rows: those of the local store, and those that lie beside it."""
    np = engines.numpy()
    hashes, beside = pending.read(folder / layout.PENDING)
    batches = list(vectors.read(folder / layout.VECTORS))
    dim = batches[0][1].shape[1] if batches else len(beside) // max(len(hashes), 1)
    batches.append((hashes, np.frombuffer(beside, np.float32).reshape(len(hashes), dim)))
    known = {text_hash: row for row, text_hash in enumerate(each for keys, _ in batches for each in keys)}
    return known, np.concatenate([found for _, found in batches])


def write(shared: Shared, generation: str, rows: Rows) -> None:
    """Write the table of the generation whose objects lie below `generation`. Raises StoreError."""
    with said(shared, layout.VECTORS):
        vectors.create(_connected(shared, generation), rows.vectors.shape[1], lambda: [rows])


def read(shared: Shared, generation: str, facts: bytes) -> Rows:
    """The rows of that table. Raises DamagedIndexError unless they are those that `facts` tells of."""
    with contained("the shared index's table of vectors cannot be read", layout.REBUILD):
        table = _connected(shared, generation).open_table(vectors.TABLE).to_arrow()
        flat = table.column("vector").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        dim = table.schema.field("vector").type.list_size
        ids, parts, hashes = (table.column(name).to_pylist() for name in ("id", "part", "text_hash"))
    rows = Rows(ids=ids, parts=parts, hashes=hashes, vectors=flat.reshape(len(ids), dim))
    if rows.facts() != facts:
        raise DamagedIndexError("the shared index's table of vectors does not match its digest", layout.REBUILD)
    return rows


def count(shared: Shared, generation: str) -> int:
    """How many rows the table has in the store."""
    with said(shared, layout.VECTORS):
        return int(_connected(shared, generation).open_table(vectors.TABLE).count_rows())


def restore(rows: Rows, folder: Path) -> None:
    """Write the rows into a local generation's folder, where a build looks for vectors that it need not encode."""
    vectors.write(folder / layout.VECTORS, rows.vectors.shape[1], lambda: [rows])


def _connected(shared: Shared, generation: str) -> Any:
    access = shared.access
    options = {**access.options, "allow_http": str(access.allow_http).lower(), "connect_timeout": "5s"}
    where = f"{shared.url}/{generation}/{layout.VECTORS}"
    return engines.lancedb().connect(where, storage_options=options)
