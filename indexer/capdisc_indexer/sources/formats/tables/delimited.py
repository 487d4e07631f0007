"""CSV and TSV: one table a file, its header, types by its first rows, and how many rows it has."""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePath
from typing import BinaryIO

from capdisc_indexer.model.types import LoadedFile
from capdisc_indexer.sources.formats.derived_capability import folder_of, sample_count
from capdisc_indexer.sources.formats.tables.inference import RowSampler
from capdisc_indexer.sources.formats.tables.table_capabilities import build_table_capabilities
from capdisc_indexer.sources.formats.tables.table_types import ReaderNote, Tables, failed_read
from capdisc_indexer.sources.readers.file_bytes import open_without_links
from capdisc_indexer.sources.readers.text_decoding import wide_finding
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path, unreadable_finding

MAX_SECONDS = 20.0  # for counting; a gigabyte takes about ten
_HEAD = 64 * 1024
_DELIMITERS = ",;\t|"
_LOOKED_AT = 50


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The table of the file, which is opened here, since it may be larger than memory."""
    name = printable_path(PurePath(file.path).stem)
    try:
        with os.fdopen(open_without_links(file.resolved), "rb") as stream:
            if wide := wide_finding(stream.peek(_HEAD), file.path):
                return LoadedFile(findings=(wide,))
            tables = read_delimited(stream, name, sample_count(file))
    except OSError as error:
        return LoadedFile(findings=(unreadable_finding(file.path, error),))
    return build_table_capabilities(file, folder_of(file), tables, alone=True)


def read_delimited(stream: BinaryIO, name: str, samples: int = 0) -> Tables:
    """The one table that the stream holds, which is closed; none and the reason where it is no
    table of texts.
    """
    try:
        with io.TextIOWrapper(stream, encoding="utf_8_sig", newline="") as text:
            head = text.read(_HEAD)
            return _read(
                csv.reader(_lines(head, text), delimiter=delimiter_of(head)), name, samples
            )
    except UnicodeDecodeError:
        return failed_read("csv", "is not UTF-8", "save it as CSV in UTF-8")
    except csv.Error as error:
        return failed_read(
            "csv", f"cannot be read as comma-separated values: {error}", "put long texts in quotes"
        )


def delimiter_of(head: str) -> str:
    """The sign that parts most of the first lines into equally many, and more than one, fields.

    >>> delimiter_of("name;price\\nApple, red;1,5\\n")
    ';'
    """
    lines = list(islice(io.StringIO(head, newline=""), _LOOKED_AT))
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
    """Whether the first row names the columns: every field has a word of its own, and none is a
    number.
    """
    first = [field.strip() for field in rows[0]]
    is_named = all(first) and len(set(first)) == len(first)
    return is_named and not any(_is_number(field) for field in first)


def _read(reader: Iterator[list[str]], name: str, samples: int) -> Tables:
    first = next((row for row in reader if row), None)
    if first is None:
        return failed_read("csv", "holds no rows", "write a line with the names of the columns")
    notes = []
    rows = RowSampler(samples)
    names = [field.strip() for field in first]
    if not has_header([first]):
        message = "the first line does not name the columns; they are numbered"
        notes.append(
            ReaderNote(
                severity="info",
                code="table-header",
                message=message,
                hint="write a line with their names",
            )
        )
        names = [f"column{place}" for place in range(1, len(first) + 1)]
        rows.add(first)
    complete = _count_rows(reader, rows)
    if not complete:
        message, hint = (
            "too large for its rows to be counted in 20 seconds",
            "a Parquet file says how many it has",
        )
        notes.append(
            ReaderNote(severity="warning", code="table-uncounted", message=message, hint=hint)
        )
    return Tables(kind="csv", tables=(rows.table(name, names, complete),), notes=tuple(notes))


def _count_rows(reader: Iterator[list[str]], rows: RowSampler) -> bool:
    """Adds the rows; False when there was no time for all of them."""
    deadline = time.monotonic() + MAX_SECONDS
    for row in reader:
        if row:
            rows.add(row)
        if not rows.count % 10_000 and time.monotonic() > deadline:
            return False
    return True


def _lines(head: str, remaining: io.TextIOWrapper) -> Iterator[str]:
    """The lines of what was read already and of what follows, each with its end."""
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
