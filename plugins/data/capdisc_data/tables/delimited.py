"""CSV and TSV files as tables: names from the header, types from the first rows, and a count of all
rows.
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

from capdisc_data.tables import (
    ReaderNote,
    RowSampler,
    Tables,
    failed_read,
)
from capdisc_data.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.formats.naming_rules import folder_of
from capdisc_indexer.sources.formats.parsed_capability import sample_count
from capdisc_indexer.sources.readers.file_bytes import wide_finding
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    printable_path,
    unreadable_finding,
)

MAX_SECONDS = 20.0  # for counting; a gigabyte takes about ten
_HEAD = 64 * 1024
_DELIMITERS = ",;\t|"
_DELIMITER_LINES = 50  # that the delimiter is guessed from


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file. The bytes are not needed: the file may be larger than memory, and is
    opened here.
    """
    name = printable_path(PurePath(file.path).stem)
    try:
        with os.fdopen(system.open_without_links(file.resolved), "rb") as stream:
            if wide := wide_finding(stream.peek(_HEAD), file.path):
                return LoadedFile(findings=(wide,))
            tables = read_delimited(stream, name, sample_count(file))
    except OSError as error:
        return LoadedFile(findings=(unreadable_finding(file.path, error),))
    return build_table_capabilities(file, folder_of(file), tables, alone=True)


def read_delimited(stream: BinaryIO, name: str, sample_size: int = 0) -> Tables:
    """The one table of the stream, or none and a note that says why. Closes the stream."""
    try:
        with io.TextIOWrapper(stream, encoding="utf_8_sig", newline="") as text:
            head = text.read(_HEAD)
            rows = csv.reader(_lines(head, text), delimiter=delimiter_of(head))
            return _read_rows(rows, name, sample_size)
    except UnicodeDecodeError:
        return failed_read("csv", "is not UTF-8", "save it as CSV in UTF-8")
    except csv.Error as error:
        return failed_read(
            "csv", f"cannot be read as comma-separated values: {error}", "put long texts in quotes"
        )


def delimiter_of(head: str) -> str:
    """The sign that splits most of the first lines into equally many, and more than one, fields.

    >>> delimiter_of("name;price\\nApple, red;1,5\\n")
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


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: no field is empty, a number, or twice the same."""
    names = [field.strip() for field in rows[0]]
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
    if not has_header([first_row]):
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
