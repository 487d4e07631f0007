"""The LanceDB table of an index: which rows it has, how it is changed in one step, and which
generation it equals.

    table/capability_index.lance   the table, which `lancedb` reads by itself; LanceDB keeps versions
    table/STATE                    the version that equals a generation, and the pointer to that one
    table/LOCK                     one process at a time changes the table

A row is a capability (part 0), one of its example requests, or a passage of its body; docs/internals/lancedb.md
has the columns. The table is made from a generation and never the other way round: whatever happens
to it, it can be rewritten. A change is one commit of LanceDB, so a reader sees the rows of one
generation. LanceDB syncs nothing, so its files are synced before STATE names their version.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import BusyError, IndexStateError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.platforms import system
from capdisc_indexer.store import durable_files, generation, locks, publication
from capdisc_indexer.store.native_errors import translate_native_errors

TABLE_NAME = "capability_index"
FOLDER = "table"
# Rows in memory at a time.
BATCH_ROWS = 4_096
# From this number of rows on, vectors get an index of parts, which holds a copy of them: of 25,000
# the nearest are found in 10 ms without it.
_MIN_INDEXED_VECTORS = 100_000
# On an object store from this one on: without it a query reads every vector.
_MIN_INDEXED_IN_STORE = 1_000
# Of 2,040 skills the columns of text take 17 MB so, and 28 without; the later format of LanceDB's
# files compresses texts one by one, to 25.
_COMPRESSION = {"lance-encoding:compression": "zstd", "lance-encoding:compression-level": "9"}
_STORAGE = {"new_table_data_storage_version": "2.0"}
# After this number of changes the small files that they left are merged, and their rows indexed.
CHANGES_BETWEEN_MERGES = 20
# Versions stay so long for whoever reads one of them.
_RETENTION = timedelta(minutes=10)
LOCK_TIMEOUT_S, _LOCK_POLL_S = 60.0, 0.05
# The errors of file systems without hard links, by which LanceDB puts its manifest in place.
_NO_LINK_ERRNOS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_WRITE_HINT = "free some disk space, then run: capdisc index --wait"
READ_HINT = "run: capdisc index --wait"
ROW_CAPABILITY, ROW_PHRASE, ROW_PASSAGE = "row:capability", "row:phrase", "row:passage"


class CapabilityRow(NamedTuple):
    """One row, in the order of the columns. `words`, `terms`, `name_terms`, `head`, `body` and
    `pieces` are of the capability itself, None in other rows; `vector` are bytes of float32.
    `body` and `pieces` are for a table on an object store; in a local index, documents hold them.
    """

    id: str
    part: int
    kind: str
    name: str
    description: str
    category: str
    tags: Sequence[str]
    risk: str
    root: str
    path: str
    section: str
    text: str
    text_hash: str
    vector: bytes
    digest: str
    labels: Sequence[str]
    words: str | None
    terms: str | None
    name_terms: str | None
    head: bytes | None
    body: bytes | None
    pieces: bytes | None


CapabilityRows = Callable[[], Iterable[CapabilityRow]]
_TEXT_COLUMNS = frozenset(
    "id kind name description category risk root path section text text_hash digest words "
    "terms name_terms".split()
)
_LIST_COLUMNS = frozenset({"tags", "labels"})
_STORE_COLUMNS = frozenset({"body", "pieces"})
_BYTES_COLUMNS = _STORE_COLUMNS | {"head"}
# The columns of analysed terms.
TERM_COLUMNS = ("terms", "name_terms")


@frozen(kw_only=True)
class TableState:
    """Which version of the table equals which generation.

    `pointer` is the text of CURRENT, `layout` names all that rows depend on besides their
    capability, `rows` counts them, `changes` those since small files were merged.
    """

    pointer: str
    generation: int
    version: int
    rows: int
    layout: str
    changes: int = 0


def table_folder(index_dir: Path) -> Path:
    """The LanceDB database of an index: what `lancedb.connect` takes."""
    return index_dir / FOLDER


def state_file(index_dir: Path) -> Path:
    """The file that is replaced whenever the table was brought up to date."""
    return table_folder(index_dir) / "STATE"


def read_state(index_dir: Path) -> TableState | None:
    """The state of the table; None where there is none, or it cannot be read."""
    try:
        return TableState(**json.loads(state_file(index_dir).read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def write_state(index_dir: Path, state: TableState) -> None:
    """Record the state, after the files of its version were synced."""
    durable_files.sync_tree(table_folder(index_dir))
    names = ("pointer", "generation", "version", "rows", "layout", "changes")
    record = {name: getattr(state, name) for name in names}
    durable_files.replace_file(state_file(index_dir), json.dumps(record).encode())


def equals_index(index_dir: Path) -> bool:
    """Whether the table has the rows of the published generation."""
    state = read_state(index_dir)
    return state is not None and state.pointer == generation.read_pointer(index_dir)


def make_table_folder(index_dir: Path) -> Path:
    """The folder of the table, made where it is missing. Raises FileNotFoundError where the folder
    of the index is gone: what the user removed does not come back.
    """
    folder = table_folder(index_dir)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@contextmanager
def table_lock(index_dir: Path, timeout_s: float) -> Iterator[None]:
    """Holds the lock that a change of the table needs. Raises BusyError after `timeout_s`
    seconds, FileNotFoundError where the folder of the index is gone.
    """
    folder = make_table_folder(index_dir)
    fd = system.open_or_create(folder / "LOCK")
    try:
        if not locks.acquire_within(fd, timeout_s, _LOCK_POLL_S):
            raise BusyError(
                "another process is writing the LanceDB table", "try again in a moment"
            )
        yield
    finally:
        os.close(fd)


def _make_schema(dim: int, in_store: bool = False) -> Any:
    """The columns; without an encoder (dim 0) there is no vector. Those of a table `in_store` are
    what a copy of the index is made of, so its vectors are whole.
    """
    pa = lazy_imports.pyarrow()
    number = pa.float32() if in_store else pa.float16()
    item = pa.field("item", pa.string(), metadata=_COMPRESSION)
    types = (
        dict.fromkeys(_TEXT_COLUMNS, pa.string())
        | dict.fromkeys(_LIST_COLUMNS, pa.list_(item))
        | dict.fromkeys(_BYTES_COLUMNS, pa.large_binary())
        | {"part": pa.uint32(), "vector": pa.list_(number, dim)}
    )
    left_out = {*(() if in_store else _STORE_COLUMNS), *(() if dim else ("vector",))}
    return pa.schema(
        pa.field(name, types[name], metadata=None if name == "vector" else _COMPRESSION)
        for name in CapabilityRow._fields
        if name not in left_out
    )


def _record_batches(rows: Iterable[CapabilityRow], dim: int, schema: Any) -> Iterator[Any]:
    """The rows as record batches of pyarrow."""
    pa, remaining = lazy_imports.pyarrow(), iter(rows)
    while batch := list(islice(remaining, BATCH_ROWS)):
        columns = dict(zip(CapabilityRow._fields, zip(*batch, strict=True), strict=True))
        arrays = [_to_array(pa, field, columns[field.name], dim) for field in schema]
        yield pa.record_batch(arrays, schema=schema)


def _to_array(pa: Any, field: Any, values: Sequence[Any], dim: int) -> Any:
    if field.name == "vector":
        flat = pa.Array.from_buffers(
            pa.float32(), len(values) * dim, [None, pa.py_buffer(b"".join(values))]
        )
        return pa.FixedSizeListArray.from_arrays(flat, dim).cast(field.type)
    if field.name in _TEXT_COLUMNS:
        values = [None if value is None else _encodable(value) for value in values]
    elif field.name in _LIST_COLUMNS:
        values = [list(map(_encodable, value)) for value in values]
    return pa.array(values, type=field.type)


def _encodable(text: str) -> str:
    """The text without lone surrogates, which are not UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def connect(index_dir: Path) -> Any:
    """The LanceDB connection to the database of an index."""
    return lazy_imports.lancedb().connect(str(table_folder(index_dir)))


def open_version(index_dir: Path, version: int) -> Any:
    """The table as it was in this version. Raises IndexStateError when it cannot be opened."""
    with translate_native_errors("the LanceDB table cannot be opened", READ_HINT, IndexStateError):
        table = connect(index_dir).open_table(TABLE_NAME)
        table.checkout(version)
        return table


def write_table(index_dir: Path, dim: int, rows: CapabilityRows) -> tuple[int, int]:
    """Write all rows as a new version of the table; its number, and how many rows it has. `rows`
    may be called twice.

    Raises IndexStateError when LanceDB cannot write, OSError when the disk refuses.
    """
    place = table_folder(index_dir) / f"{TABLE_NAME}.lance"
    try:
        return _write_table(connect(index_dir), dim, rows, place.exists())
    except OSError as error:
        if error.errno not in _NO_LINK_ERRNOS:
            raise
    with tempfile.TemporaryDirectory(prefix="capdisc-") as temporary:
        result = _write_table(lazy_imports.lancedb().connect(temporary), dim, rows, False)
        shutil.rmtree(place, ignore_errors=True)
        publication.clone_folder(Path(temporary, place.name), place, lambda name: True)
    return result


def _write_table(
    connection: Any, dim: int, rows: CapabilityRows, is_replaced: bool
) -> tuple[int, int]:
    with _translate_write_errors():
        table = create_table(connection, dim, rows(), is_replaced)
        if is_replaced:
            table.optimize(cleanup_older_than=_RETENTION)
        return int(table.version), int(table.count_rows())


def _translate_write_errors() -> Any:
    return translate_native_errors(
        "the LanceDB table could not be written", _WRITE_HINT, IndexStateError
    )


def create_table(
    connection: Any,
    dim: int,
    rows: Iterable[CapabilityRow],
    is_replaced: bool = False,
    in_store: bool = False,
) -> Any:
    """The table with these rows and its indices, written to the database of this connection, in
    the place of an earlier one if `is_replaced`; `in_store`: on an object store.
    """
    pa = lazy_imports.pyarrow()
    schema = _make_schema(dim, in_store)
    reader = pa.RecordBatchReader.from_batches(schema, _record_batches(rows, dim, schema))
    mode = "overwrite" if is_replaced else "create"
    table = connection.create_table(
        TABLE_NAME, reader, schema=schema, mode=mode, storage_options=_STORAGE
    )
    min_indexed = _MIN_INDEXED_IN_STORE if in_store else _MIN_INDEXED_VECTORS
    if count := table.count_rows():
        _create_indices(table, count if dim and count >= min_indexed else 0, in_store)
    return table


def _create_indices(table: Any, indexed_vectors: int, in_store: bool) -> None:
    """Index words and labels, in a store also ids, and this many vectors, in as many parts as each
    part has rows.
    """
    index_types = lazy_imports.lancedb_index()
    # For texts as people write them.
    english = index_types.FTS(
        with_position=False,
        base_tokenizer="simple",
        language="English",
        max_token_length=60,
        lower_case=True,
        stem=True,
        remove_stop_words=False,
        ascii_folding=True,
    )
    # Analysed by us: what is stemmed twice ("database", "conversation") is another word.
    analysed = index_types.FTS(
        with_position=False,
        base_tokenizer="whitespace",
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
    )
    table.create_index("words", config=english)
    for column in TERM_COLUMNS:
        table.create_index(column, config=analysed)
    table.create_index("labels", config=index_types.LabelList())
    if in_store:  # 1 MB of 24,660 rows, which are read here in no time
        table.create_index("id", config=index_types.BTree())
    if indexed_vectors:
        parts = math.isqrt(indexed_vectors)
        config = index_types.IvfFlat(distance_type="cosine", num_partitions=parts)
        table.create_index("vector", config=config)


def replace_rows(
    index_dir: Path, version: int, dim: int, rows: Iterable[CapabilityRow], ids: Collection[str]
) -> tuple[int, int]:
    """Put these rows in the place of all that the capabilities of these ids have, in one commit on
    the newest version; the number of the new version, and how many rows it has.

    Raises IndexStateError when LanceDB cannot write, OSError when the disk refuses.
    """
    with _translate_write_errors():
        table = connect(index_dir).open_table(TABLE_NAME)
        if table.version != version:
            # Left by a process that was ended before it wrote STATE.
            table.checkout(version)
            table.restore()
        pa, schema = lazy_imports.pyarrow(), _make_schema(dim)
        new_rows = pa.Table.from_batches(_record_batches(rows, dim, schema), schema=schema)
        if not len(new_rows):
            table.delete(any_of("id", ids))
        else:
            merge = table.merge_insert(["id", "part"])
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
            merge.when_not_matched_by_source_delete(any_of("id", ids)).execute(new_rows)
        return int(table.version), int(table.count_rows())


def merge_small_files(index_dir: Path) -> int:
    """Merge the small files of earlier changes, take their rows into the indices, and remove
    versions that nobody reads; the number of the newest version.
    """
    with _translate_write_errors():
        table = connect(index_dir).open_table(TABLE_NAME)
        table.optimize(cleanup_older_than=_RETENTION)
        return int(table.version)


def remove_table(index_dir: Path) -> None:
    """Remove the table, so that it is rewritten."""
    state_file(index_dir).unlink(missing_ok=True)
    shutil.rmtree(table_folder(index_dir) / f"{TABLE_NAME}.lance", ignore_errors=True)


def read_digests(table: Any) -> dict[str, str]:
    """The digest of the record of each capability in an open table, by id."""
    return dict(read_columns(table, ("id", "digest"), "part = 0"))


def read_columns(table: Any, columns: Sequence[str], condition: str) -> Iterator[tuple[Any, ...]]:
    """The values of these columns in each row that fits the condition, in no certain order."""
    with translate_native_errors("the LanceDB table cannot be read", READ_HINT, IndexStateError):
        query = table.search().where(condition).select(list(columns))
        for batch in query.to_batches(BATCH_ROWS):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


# Conditions in SQL.


def quote(text: str) -> str:
    """The text as a literal of SQL, whatever it holds.

    >>> quote("it's")
    "'it''s'"
    """
    return "'" + _encodable(text).replace("'", "''") + "'"


def any_of(column: str, values: Iterable[str]) -> str:
    """The condition that a column has one of the values."""
    return f"{column} IN ({', '.join(map(quote, values)) or 'NULL'})"


def has_label(labels: Iterable[str]) -> str:
    """The condition that a row has one of the labels."""
    return f"array_has_any(labels, [{', '.join(map(quote, labels))}])"
