"""JSON as a table: an array of objects, or one object on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from capdisc_data.tables import (
    MAX_COLUMNS,
    RowSampler,
    Table,
    Tables,
)
from capdisc_data.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.naming_rules import folder_of
from capdisc_indexer.sources.formats.parsed_capability import file_finding, sample_count
from capdisc_indexer.sources.readers.file_bytes import decode, wide_finding
from capdisc_indexer.sources.readers.json_reader import json_lines, read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import FoundFile, content_hash, printable_path

MAX_FINDINGS = 20


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file, and a finding for each of the first items that are not objects."""
    if wide := wide_finding(data, file.path):
        return LoadedFile(findings=(wide,))
    is_lines = PurePath(file.path).suffix.lower() in {".jsonl", ".ndjson"}
    values = list(_of_lines(data, file) if is_lines else _of_array(data, file))
    objects = [value for value in values if isinstance(value, dict)]
    findings = tuple([value for value in values if isinstance(value, Finding)][:MAX_FINDINGS])
    if not objects:
        return LoadedFile(findings=findings or (_no_rows(file),))
    name = printable_path(PurePath(file.path).stem)
    tables = Tables(kind="json", tables=(table_of_rows(objects, name, sample_count(file)),))
    loaded = build_table_capabilities(
        file, folder_of(file), tables, content_hash(data), alone=True
    )
    return LoadedFile(
        descriptors=loaded.descriptors, findings=(*findings, *loaded.findings), parts=loaded.parts
    )


def table_of_rows(objects: Sequence[dict[str, Json]], name: str, sample_size: int = 0) -> Table:
    """The table whose columns are all keys of the objects, in the order of their first
    appearance.
    """
    names = list(dict.fromkeys(key for row in objects for key in row))[:MAX_COLUMNS]
    rows = RowSampler(sample_size)
    for row in objects:
        rows.add([row.get(key) for key in names])
    return rows.table(name, names)


def _of_lines(data: bytes, file: FoundFile) -> Iterator[dict[str, Json] | Finding]:
    for line in json_lines(data, file.path):
        if isinstance(line, Finding):
            yield line
        elif isinstance(line.value, dict):
            yield line.value
        else:
            yield _not_object(file, f"line {line.number}", line.number)


def _of_array(data: bytes, file: FoundFile) -> Iterator[dict[str, Json] | Finding]:
    text = decode(data, file.path)
    value = text if isinstance(text, Finding) else read_json(text, file.path)
    if isinstance(value, Finding):
        yield value
    elif isinstance(value, list):
        for number, element in enumerate(value, 1):
            yield element if isinstance(element, dict) else _not_object(file, f"item {number}", 1)


def _not_object(file: FoundFile, where: str, line: int) -> Finding:
    message, hint = f"{where} is not an object; left out", 'write {"column": value, ...}'
    return file_finding(file, Severity.WARNING, "table-row", message, hint, line)


def _no_rows(file: FoundFile) -> Finding:
    message, hint = "holds no objects that could be rows", 'write [{"column": value, ...}, ...]'
    return file_finding(file, Severity.ERROR, "unreadable-data", message, hint)
