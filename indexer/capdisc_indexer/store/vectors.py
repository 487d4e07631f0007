"""The vectors at full precision, in LanceDB: kept so that unchanged texts are never encoded twice."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import engines
from capdisc_indexer.containment import contained
from capdisc_indexer.errors import IndexStateError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.store import publication

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE = "capability_index"
# Rows in memory at a time, while a table is written or read.
BATCH = 8_192

# What file systems without hard links answer; the vector store puts its manifest in place by one.
_WITHOUT_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


@frozen(kw_only=True)
class Batch:
    """Some rows: row i is part `parts[i]` (0: description, then phrases) of capability `ids[i]`."""

    ids: Sequence[str]
    parts: Sequence[int]
    hashes: Sequence[str]
    vectors: NDArray[Any]


Batches = Callable[[], Iterable[Batch]]


def write(target: Path, dim: int, batches: Batches) -> None:
    """Write one table out of the batches, which may be asked for twice."""
    try:
        _write(target, dim, batches)
    except OSError as error:
        if error.errno not in _WITHOUT_LINKS:
            raise
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="capdisc-") as elsewhere:
            _write(Path(elsewhere), dim, batches)
            publication.clone(Path(elsewhere), target, lambda name: True)


def _write(target: Path, dim: int, batches: Batches) -> None:
    with contained(
        "the vector store could not be written", "free some disk space, or choose --index-dir DIR", IndexStateError
    ):
        create(engines.lancedb().connect(str(target)), dim, batches)


def create(connection: Any, dim: int, batches: Batches) -> None:
    """Make the table, wherever the connection leads."""
    pa = engines.pyarrow()
    fields = {"id": pa.string(), "part": pa.uint16(), "text_hash": pa.string(), "vector": pa.list_(pa.float32(), dim)}
    schema = pa.schema(list(fields.items()))
    reader = pa.RecordBatchReader.from_batches(schema, (_columns(each, schema) for each in batches()))
    connection.create_table(TABLE, reader, schema=schema)


def _columns(batch: Batch, schema: Any) -> Any:
    pa = engines.pyarrow()
    flat = pa.array(batch.vectors.reshape(-1), type=pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1])
    texts = [pa.array(each, type=pa.string()) for each in (batch.ids, batch.hashes)]
    return pa.record_batch([texts[0], pa.array(batch.parts, type=pa.uint16()), texts[1], vectors], schema=schema)


def read(source: Path) -> Iterator[tuple[list[str], NDArray[Any]]]:
    """All rows in batches: text hashes, and vectors as (n, dim) float32."""
    with contained("the vector store could not be read", "run: capdisc index --rebuild"):
        for batch in _opened(source).search().select(["text_hash", "vector"]).to_batches(BATCH):
            if len(batch):
                flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
                yield batch.column("text_hash").to_pylist(), flat.reshape(len(batch), -1)


def hashes(source: Path) -> set[str]:
    """The texts whose vectors the table holds."""
    with contained("the vector store could not be read", "run: capdisc index --rebuild"):
        return set(_opened(source).search().select(["text_hash"]).to_arrow().column("text_hash").to_pylist())


def count(source: Path) -> int:
    """How many rows the table holds."""
    with contained("the vector store could not be read", "run: capdisc index --rebuild"):
        return int(_opened(source).count_rows())


def _opened(source: Path) -> Any:
    return engines.lancedb().connect(str(source)).open_table(TABLE)
