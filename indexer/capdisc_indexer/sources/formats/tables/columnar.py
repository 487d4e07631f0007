"""Parquet and Arrow (also called Feather): the schema and the row count, which stand in the file
beside the data.

Read by pyarrow in a process of its own; only samples make it look at the data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.formats.derived_capability import folder_of, sample_count
from capdisc_indexer.sources.formats.tables.inference import MAX_SAMPLES, build_samples
from capdisc_indexer.sources.formats.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.sources.formats.tables.table_types import (
    Column,
    Samples,
    Table,
    Tables,
    failed_read,
    tables_from,
)
from capdisc_indexer.sources.readers.file_bytes import open_without_links
from capdisc_indexer.sources.readers.reader_subprocess import ReaderProcessError, read_in_subprocess
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path

MAX_COLUMNS = 500


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file, which is opened by the process that reads it."""
    path = PurePath(file.path)
    kind = "parquet" if path.suffix.lower() == ".parquet" else "arrow"
    request: dict[str, Json] = {
        "path": file.resolved,
        "name": printable_path(path.stem),
        "kind": kind,
    }
    request["samples"] = sample_count(file)
    try:
        tables = tables_from(read_in_subprocess("tables.columnar", request))
    except ReaderProcessError as error:
        tables = _none(kind, str(error))
    return build_table_capabilities(file, folder_of(file), tables, alone=True)


def read_request(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The answer of the process that reads."""
    kind = str(request["kind"])
    try:
        with os.fdopen(open_without_links(request["path"]), "rb") as stream:
            reader = _Parquet(stream) if kind == "parquet" else _Arrow(stream)
            return asdict(
                Tables(kind=kind, tables=(_table(reader, request["name"], request["samples"]),))
            )
    except CapdiscError as error:
        return asdict(_none(kind, error.message))
    except Exception as error:  # pyarrow's errors have many roots
        return asdict(_none(kind, (str(error).splitlines() or [type(error).__name__])[0][:200]))


class _Parquet:
    """A Parquet file. `schema` is Arrow's in both formats."""

    def __init__(self, stream: Any) -> None:
        self._file = lazy_imports.parquet().ParquetFile(stream)
        self.schema = self._file.schema_arrow
        self.rows = int(self._file.metadata.num_rows)

    def first(self, count: int) -> list[dict[str, Any]]:
        """So many rows, or all there are."""
        rows: list[dict[str, Any]] = next(self._file.iter_batches(batch_size=count)).to_pylist()
        return rows


class _Arrow:
    """An Arrow file of the random access format, which Feather is since its second version."""

    def __init__(self, stream: Any) -> None:
        self._file = lazy_imports.arrow_ipc().open_file(stream)
        self.schema = self._file.schema
        self.rows = int(self._file.count_rows())

    def first(self, count: int) -> list[dict[str, Any]]:
        """So many rows of the first batch, or all that it has."""
        rows: list[dict[str, Any]] = self._file.get_batch(0).slice(0, count).to_pylist()
        return rows


def _table(reader: Any, name: str, samples: int) -> Table:
    columns = tuple(
        Column(
            name=field.name,
            type=str(field.type)[:200],
            nullable=field.nullable,
            comment=_comment(field.metadata),
        )
        for field in list(reader.schema)[:MAX_COLUMNS]
    )
    sampled_values = (
        _samples(reader, columns, min(samples, MAX_SAMPLES)) if samples and reader.rows else None
    )
    return Table(name=name, columns=columns, row_count=reader.rows, samples=sampled_values)


def _samples(reader: Any, columns: tuple[Column, ...], count: int) -> Samples:
    rows = reader.first(count)
    names = [column.name for column in columns]
    is_complete = len(rows) == reader.rows
    rows = [{name: _hashable(row.get(name)) for name in names} for row in rows]
    values = {
        name: list(dict.fromkeys(row[name] for row in rows if row[name] is not None))
        for name in names
    }
    counted = {
        name: (distinct, len(distinct) if is_complete else None)
        for name, distinct in values.items()
    }
    return build_samples(names, counted, [list(row.values()) for row in rows], reader.rows)


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, list | dict) else value


def _comment(metadata: Mapping[bytes, bytes] | None) -> str:
    comment = (metadata or {}).get(b"comment") or (metadata or {}).get(b"description") or b""
    return comment.decode("utf-8", "replace")[:1_000]


def _none(kind: str, reason: str) -> Tables:
    message = f"cannot be read as {kind.capitalize()}: {reason}"
    return failed_read(kind, message, "write it anew")
