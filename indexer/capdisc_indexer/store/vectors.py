"""The vectors at full precision, in LanceDB: kept so that unchanged texts are never encoded twice."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.containment import contained
from capdisc_indexer.errors import IndexStateError
from capdisc_indexer.store import publication

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE = "capability_index"


# What file systems without hard links answer; the vector store puts its manifest in place by one.
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def write(target: Path, ids: Sequence[str], parts: Sequence[int], hashes: Sequence[str], vectors: NDArray[Any]) -> None:
    """Write one table: row i is part `parts[i]` (0: description, then phrases) of capability `ids[i]`."""
    try:
        _write(target, ids, parts, hashes, vectors)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="capdisc-") as elsewhere:
            _write(Path(elsewhere), ids, parts, hashes, vectors)
            publication.clone(Path(elsewhere), target, lambda name: True)


def _write(
    target: Path, ids: Sequence[str], parts: Sequence[int], hashes: Sequence[str], vectors: NDArray[Any]
) -> None:
    pa = engines.pyarrow()
    with contained(
        "the vector store could not be written", "free some disk space, or choose --index-dir DIR", IndexStateError
    ):
        flat = pa.array(vectors.reshape(-1), type=pa.float32())
        columns = {
            "id": pa.array(ids, type=pa.string()),
            "part": pa.array(parts, type=pa.uint16()),
            "text_hash": pa.array(hashes, type=pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
        engines.lancedb().connect(str(target)).create_table(TABLE, pa.table(columns))


def read(source: Path) -> tuple[dict[str, int], NDArray[Any]]:
    """The row of each text hash, and all rows as (n, dim) float32."""
    np = engines.numpy()
    with contained("the vector store could not be read", "run: capdisc index --rebuild"):
        table = engines.lancedb().connect(str(source)).open_table(TABLE).to_arrow()
        column = table.column("vector").combine_chunks()
        flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.float32)
        dim = table.schema.field("vector").type.list_size
        hashes: list[str] = table.column("text_hash").to_pylist()
    rows = {text_hash: row for row, text_hash in enumerate(hashes)}
    return rows, flat.reshape(len(hashes), dim)


def count(source: Path) -> int:
    """How many rows the table holds."""
    with contained("the vector store could not be read", "run: capdisc index --rebuild"):
        return int(engines.lancedb().connect(str(source)).open_table(TABLE).count_rows())
