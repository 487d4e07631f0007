"""JSON as a table: an array of objects, or one object on each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from capdisc_indexer.sources.decoding import decode, wide_finding
from capdisc_indexer.sources.files import FoundFile, content_hash, printable
from capdisc_indexer.sources.json_lines import json_lines
from capdisc_indexer.sources.json_reader import read_json
from capdisc_indexer.sources.made import folder_of, noted, sample_count
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.tables.described import described
from capdisc_indexer.sources.tables.inference import MAX_COLUMNS, Rows
from capdisc_indexer.sources.tables.values import Table, Tables
from capdisc_indexer.types import Finding, Loaded, Severity

MAX_FINDINGS = 20


def load(file: FoundFile, data: bytes) -> Loaded:
    """The table of the file, and a finding for each of the first items that are no objects."""
    if wide := wide_finding(data, file.path):
        return Loaded(findings=(wide,))
    is_lines = PurePath(file.path).suffix.lower() in {".jsonl", ".ndjson"}
    found = list(_of_lines(data, file) if is_lines else _of_array(data, file))
    objects = [each for each in found if isinstance(each, dict)]
    findings = tuple([each for each in found if isinstance(each, Finding)][:MAX_FINDINGS])
    if not objects:
        return Loaded(findings=findings or (_none(file),))
    tables = Tables(kind="json", tables=(table(objects, printable(PurePath(file.path).stem), sample_count(file)),))
    loaded = described(file, folder_of(file), tables, content_hash(data), alone=True)
    return Loaded(descriptors=loaded.descriptors, findings=(*findings, *loaded.findings), parts=loaded.parts)


def table(objects: Iterable[dict[str, Json]], name: str, samples: int = 0) -> Table:
    """The table whose columns are all keys of the objects, in the order in which they first come."""
    kept = list(objects)
    names = list(dict.fromkeys(key for each in kept for key in each))[:MAX_COLUMNS]
    rows = Rows(samples)
    for each in kept:
        rows.add([each.get(key) for key in names])
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
        for number, each in enumerate(value, 1):
            yield each if isinstance(each, dict) else _not_object(file, f"item {number}", 1)


def _not_object(file: FoundFile, where: str, line: int) -> Finding:
    message, hint = f"{where} is no object; left out", 'write {"column": value, ...}'
    return noted(file, Severity.WARNING, "table-row", message, hint, line)


def _none(file: FoundFile) -> Finding:
    message, hint = "holds no objects that could be rows", 'write [{"column": value, ...}, ...]'
    return noted(file, Severity.ERROR, "unreadable-data", message, hint)
