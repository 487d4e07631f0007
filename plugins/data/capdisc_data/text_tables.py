"""Text files that are one table: CSV and TSV, with names from the header, types from the first
rows and a count of all rows; and JSON, as an array of objects or one object on each line.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from capdisc_data.refusals import RefusedFileError, accept, catch_refusal
from capdisc_data.table_capabilities import build_table_capabilities
from capdisc_data.tables import MAX_COLUMNS, ReaderNote, RowSampler, Tables, failed_read
from capdisc_indexer.model.types import Finding, LoadedFile, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.naming_rules import folder_of
from capdisc_indexer.sources.formats.parsed_capability import (
    file_finding,
    join_loaded,
    sample_count,
)
from capdisc_indexer.sources.readers.file_bytes import decode, wide_finding
from capdisc_indexer.sources.readers.json_reader import json_lines, read_json
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    unreadable_finding,
)

MAX_SECONDS = 20.0  # for counting; a gigabyte takes about ten
MAX_FINDINGS = 20
_HEAD = 64 * 1024
_DELIMITERS = ",;\t|"
_DELIMITER_LINES = 50  # that the delimiter is guessed from


@catch_refusal
def load_delimited(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file. The bytes are not needed: the file may be larger than memory, and is
    opened here.
    """
    name = printable_path(PurePath(file.path).stem)
    try:
        with os.fdopen(system.open_without_links(file.resolved), "rb") as stream:
            accept(wide_finding(stream.peek(_HEAD), file.path))
            tables = _read_delimited(stream, name, sample_count(file))
    except OSError as error:
        raise RefusedFileError(unreadable_finding(file.path, error)) from error
    return build_table_capabilities(file, folder_of(file), tables, alone=True)


def _read_delimited(stream: BinaryIO, name: str, sample_size: int) -> Tables:
    """The one table of the stream, or none and a note that says why. Closes the stream."""
    try:
        with io.TextIOWrapper(stream, encoding="utf_8_sig", newline="") as text:
            head = text.read(_HEAD)
            rows = csv.reader(_lines(head, text), delimiter=_delimiter_of(head))
            return _read_rows(rows, name, sample_size)
    except UnicodeDecodeError:
        return failed_read("csv", "is not UTF-8", "save it as CSV in UTF-8")
    except csv.Error as error:
        return failed_read(
            "csv", f"cannot be read as comma-separated values: {error}", "put long texts in quotes"
        )


def _delimiter_of(head: str) -> str:
    """The sign that splits most of the first lines into equally many, and more than one, fields.

    >>> _delimiter_of("name;price\\nApple, red;1,5\\n")
    ';'
    """
    lines = list(islice(io.StringIO(head, newline=""), _DELIMITER_LINES))
    best = (0, 0, ",")
    for sign in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row]
        except csv.Error:
            continue
        width = widths[0] if widths else 0
        if width > 1:
            best = max(
                best,
                (widths.count(width) - len(widths), width, sign),
                key=lambda candidate: (candidate[1] > 1, *candidate[:2]),
            )
    return best[2]


def _has_header(row: Sequence[str]) -> bool:
    """Whether the row names the columns: no field is empty, a number or repeated."""
    names = [field.strip() for field in row]
    return (
        all(names)
        and len(set(names)) == len(names)
        and not any(_is_number(name) for name in names)
    )


def _read_rows(reader: Iterator[list[str]], name: str, sample_size: int) -> Tables:
    first_row = next((row for row in reader if row), None)
    if first_row is None:
        return failed_read("csv", "holds no rows", "write a line with the names of the columns")
    notes = []
    rows = RowSampler(sample_size)
    names = [field.strip() for field in first_row]
    if not _has_header(first_row):
        message = "the first line does not name the columns; they are numbered"
        notes.append(ReaderNote("table-header", message, "write a line with their names", "info"))
        names = [f"column{place}" for place in range(1, len(first_row) + 1)]
        rows.add(first_row)
    is_complete = _count_rows(reader, rows)
    if not is_complete:
        message = "too large for its rows to be counted in 20 seconds"
        notes.append(ReaderNote("table-uncounted", message, "a Parquet file says how many it has"))
    return Tables(kind="csv", tables=(rows.table(name, names, is_complete),), notes=tuple(notes))


def _count_rows(reader: Iterator[list[str]], rows: RowSampler) -> bool:
    """Adds the rows; False if the time ran out before the last."""
    deadline = time.monotonic() + MAX_SECONDS
    for row in reader:
        if row:
            rows.add(row)
        if not rows.count % 10_000 and time.monotonic() > deadline:
            return False
    return True


def _lines(head: str, remaining: io.TextIOWrapper) -> Iterator[str]:
    """The lines of the head that was read already and of the rest, with their line ends."""
    *full_lines, partial_line = list(io.StringIO(head, newline="")) or [""]
    yield from full_lines
    yield partial_line + (remaining.readline() if not partial_line.endswith("\n") else "")
    yield from remaining


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


# JSON.


@catch_refusal
def load_json(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file, and a finding for each of the first items that are not objects."""
    accept(wide_finding(data, file.path))
    is_lines = PurePath(file.path).suffix.lower() in {".jsonl", ".ndjson"}
    values = list(_of_lines(data, file) if is_lines else _of_array(data, file))
    objects = [value for value in values if isinstance(value, dict)]
    findings = tuple([value for value in values if isinstance(value, Finding)][:MAX_FINDINGS])
    if not objects:
        return LoadedFile(findings=findings or (_no_rows(file),))
    rows = RowSampler(sample_count(file))
    # The columns are all keys of the objects, in the order of their first appearance.
    names = list(dict.fromkeys(key for row in objects for key in row))[:MAX_COLUMNS]
    for row in objects:
        rows.add([row.get(key) for key in names])
    table = rows.table(printable_path(PurePath(file.path).stem), names)
    loaded = build_table_capabilities(
        file,
        folder_of(file),
        Tables(kind="json", tables=(table,)),
        content_hash(data),
        alone=True,
    )
    return join_loaded(LoadedFile(findings=findings), loaded)


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
