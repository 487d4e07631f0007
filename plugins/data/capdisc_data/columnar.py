"""Parquet and Arrow (also called Feather) as tables: their schema and row count, which stand in
the file next to the data.

pyarrow reads them in a separate process, and reads data only if samples are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol

from capdisc_data.table_capabilities import build_table_capabilities
from capdisc_data.tables import (
    Column,
    Table,
    Tables,
    build_samples,
    failed_read,
    tables_from_json,
)
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.naming_rules import folder_of
from capdisc_indexer.sources.formats.parsed_capability import sample_count
from capdisc_indexer.sources.readers.reader_subprocess import (
    ReaderProcessError,
    read_in_subprocess,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.sources.source_format import MAX_SAMPLES

MAX_COLUMNS = 500


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file. The bytes are not needed: the process that reads the file opens
    it.
    """
    path = PurePath(file.path)
    kind = "parquet" if path.suffix.lower() == ".parquet" else "arrow"
    request: dict[str, Json] = {
        "path": file.resolved,
        "name": printable_path(path.stem),
        "kind": kind,
        "samples": sample_count(file),
    }
    try:
        tables = tables_from_json(read_in_subprocess(__name__, request))
    except ReaderProcessError as error:
        tables = _unreadable(kind, str(error))
    return build_table_capabilities(file, folder_of(file), tables, alone=True)


def read_request(request: JsonObject, data: bytes) -> JsonObject:
    """`Tables` as JSON: the answer of the process that reads the file."""
    kind = str(request["kind"])
    try:
        with os.fdopen(system.open_without_links(request["path"]), "rb") as stream:
            reader = _Parquet(stream) if kind == "parquet" else _Arrow(stream)
            table = _table(reader, request["name"], request["samples"])
            return asdict(Tables(kind=kind, tables=(table,)))
    except CapdiscError as error:
        return asdict(_unreadable(kind, error.message))
    except Exception as error:  # pyarrow's errors have many roots
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        return asdict(_unreadable(kind, reason))


class _ColumnarFile(Protocol):
    """An open file of either format; `schema` is an Arrow schema in both."""

    schema: Any
    row_count: int

    def first_rows(self, count: int) -> list[JsonObject]: ...


class _Parquet:
    def __init__(self, stream: BinaryIO) -> None:
        self._file = lazy_imports.parquet().ParquetFile(stream)
        self.schema = self._file.schema_arrow
        self.row_count = int(self._file.metadata.num_rows)

    def first_rows(self, count: int) -> list[JsonObject]:
        """At most `count` rows."""
        rows: list[JsonObject] = next(self._file.iter_batches(batch_size=count)).to_pylist()
        return rows


class _Arrow:
    """An Arrow file of the random access format, which Feather is since its second version."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = lazy_imports.arrow_ipc().open_file(stream)
        self.schema = self._file.schema
        self.row_count = int(self._file.count_rows())

    def first_rows(self, count: int) -> list[JsonObject]:
        """At most `count` rows, all of the first batch."""
        rows: list[JsonObject] = self._file.get_batch(0).slice(0, count).to_pylist()
        return rows


def _table(reader: _ColumnarFile, name: str, sample_size: int) -> Table:
    columns = tuple(
        Column(
            name=field.name,
            type=str(field.type)[:200],
            nullable=field.nullable,
            comment=_comment(field.metadata),
        )
        for field in list(reader.schema)[:MAX_COLUMNS]
    )
    samples: dict[str, Json] = {}
    if sample_size and reader.row_count:
        samples = _samples(reader, columns, min(sample_size, MAX_SAMPLES))
    return Table(name=name, columns=columns, row_count=reader.row_count, samples=samples)


def _samples(reader: _ColumnarFile, columns: tuple[Column, ...], count: int) -> dict[str, Json]:
    names = [column.name for column in columns]
    rows = [{name: _hashable(row.get(name)) for name in names} for row in reader.first_rows(count)]
    is_complete = len(rows) == reader.row_count
    values = {
        name: list(dict.fromkeys(row[name] for row in rows if row[name] is not None))
        for name in names
    }
    counted = {
        name: (distinct, len(distinct) if is_complete else None)
        for name, distinct in values.items()
    }
    return build_samples(names, counted, [list(row.values()) for row in rows], reader.row_count)


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, list | dict) else value


def _comment(metadata: Mapping[bytes, bytes] | None) -> str:
    comment = (metadata or {}).get(b"comment") or (metadata or {}).get(b"description") or b""
    return comment.decode("utf-8", "replace")[:1_000]


def _unreadable(kind: str, reason: str) -> Tables:
    message = f"cannot be read as {kind.capitalize()}: {reason}"
    return failed_read(kind, message, "write it again")
