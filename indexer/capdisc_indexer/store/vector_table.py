"""Stores the vectors at full precision, so that unchanged texts are never encoded twice.

They lie in a LanceDB table. The few vectors that came after it was written lie in two files beside
it, since the import of LanceDB takes a second:

    hashes        n text hashes of 32 digits
    rows.f32      n rows of dim float32, in their order

A build with many new or many pending vectors puts all into the table and leaves none pending.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.store import publication
from capdisc_indexer.store.native_errors import translate_native_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HASH_DIGITS = 32
TABLE_NAME = "capability_index"
# Rows in memory at a time, while a table is written or read.
BATCH_ROWS = 8_192
# The errors of file systems without hard links, by which LanceDB puts its manifest in place.
_NO_LINK_ERRNOS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def write_pending(target: Path, hashes: Sequence[str], rows: bytes) -> None:
    """Write the rows (float32, one after the other) and the hashes of their texts; without rows no
    files.
    """
    if not hashes:
        return
    target.mkdir()
    (target / "hashes").write_bytes("".join(hashes).encode("ascii"))
    (target / "rows.f32").write_bytes(rows)


def read_pending(source: Path) -> tuple[list[str], Any]:
    """The hashes, and all rows as one buffer of float32.

    Raises OSError or ValueError when they cannot be read.
    """
    try:
        text = (source / "hashes").read_bytes().decode("ascii")
    except FileNotFoundError:
        return [], memoryview(array("f"))
    rows = memoryview((source / "rows.f32").read_bytes()).cast("f")
    return [text[at : at + _HASH_DIGITS] for at in range(0, len(text), _HASH_DIGITS)], rows


@frozen(kw_only=True)
class VectorBatch:
    """Rows of the table: row i of `vectors` (n, dim) float32 is part `parts[i]` (0: description,
    then phrases) of capability `ids[i]`.
    """

    ids: Sequence[str]
    parts: Sequence[int]
    hashes: Sequence[str]
    vectors: NDArray[Any]


VectorBatches = Callable[[], Iterable[VectorBatch]]


def write_table(target: Path, dim: int, batches: VectorBatches) -> None:
    """Write one table; `batches` may be called twice.

    Raises IndexStateError when LanceDB cannot write, OSError when the disk refuses.
    """
    try:
        _write_table(target, dim, batches)
    except OSError as error:
        if error.errno not in _NO_LINK_ERRNOS:
            raise
        shutil.rmtree(target, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="capdisc-") as temporary:
            _write_table(Path(temporary), dim, batches)
            publication.clone_folder(Path(temporary), target, lambda name: True)


def _write_table(target: Path, dim: int, batches: VectorBatches) -> None:
    with translate_native_errors(
        "the vector store could not be written",
        "free some disk space, or choose --index-dir DIR",
        IndexStateError,
    ):
        create_table(lazy_imports.lancedb().connect(str(target)), dim, batches)


def create_table(connection: Any, dim: int, batches: VectorBatches) -> None:
    """Make the table in the database of this LanceDB connection."""
    pa = lazy_imports.pyarrow()
    fields = {
        "id": pa.string(),
        "part": pa.uint16(),
        "text_hash": pa.string(),
        "vector": pa.list_(pa.float32(), dim),
    }
    schema = pa.schema(list(fields.items()))
    reader = pa.RecordBatchReader.from_batches(
        schema, (_to_record_batch(batch, schema) for batch in batches())
    )
    connection.create_table(TABLE_NAME, reader, schema=schema)


def _to_record_batch(batch: VectorBatch, schema: Any) -> Any:
    pa = lazy_imports.pyarrow()
    flat = pa.array(batch.vectors.reshape(-1), type=pa.float32())
    vectors = pa.FixedSizeListArray.from_arrays(flat, batch.vectors.shape[1])
    texts = [pa.array(column, type=pa.string()) for column in (batch.ids, batch.hashes)]
    return pa.record_batch(
        [texts[0], pa.array(batch.parts, type=pa.uint16()), texts[1], vectors], schema=schema
    )


def read_batches(source: Path) -> Iterator[tuple[list[str], NDArray[Any]]]:
    """All rows in batches: text hashes, and vectors (n, dim) float32."""
    with translate_native_errors(
        "the vector store could not be read", "run: capdisc index --rebuild"
    ):
        for batch in (
            _open_table(source).search().select(["text_hash", "vector"]).to_batches(BATCH_ROWS)
        ):
            if len(batch):
                flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False)
                yield batch.column("text_hash").to_pylist(), flat.reshape(len(batch), -1)


def read_hashes(source: Path) -> set[str]:
    """The hashes of the texts whose vectors the table holds."""
    with translate_native_errors(
        "the vector store could not be read", "run: capdisc index --rebuild"
    ):
        return set(
            _open_table(source)
            .search()
            .select(["text_hash"])
            .to_arrow()
            .column("text_hash")
            .to_pylist()
        )


def count_rows(source: Path) -> int:
    """The number of rows of the table."""
    with translate_native_errors(
        "the vector store could not be read", "run: capdisc index --rebuild"
    ):
        return int(_open_table(source).count_rows())


def _open_table(source: Path) -> Any:
    return lazy_imports.lancedb().connect(str(source)).open_table(TABLE_NAME)
