"""A workbook's sheets, each as tables of its first rows below its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from xml.etree.ElementTree import Element

from capdisc_indexer.sources.documents.office_parts import Parts, RefusedError, table_text
from capdisc_indexer.sources.documents.pieces import MAX_TITLE, Piece

MAX_ROWS = 2_000  # of a sheet; what holds more is data, and better declared as a table
MAX_COLUMNS = 50
_ROWS_TOGETHER = 25
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_LETTERS = re.compile(r"[A-Z]{1,3}")


def sheets(parts: Parts) -> Iterator[Piece]:
    """The name and the rows of each sheet that is shown."""
    root = parts.xml("xl/workbook.xml")
    if root is None:
        raise RefusedError("it is no workbook")
    places = parts.relations("xl/workbook.xml")
    shared = _shared(parts)
    for number, each in enumerate(root.iter(f"{_S}sheet"), 1):
        sheet = parts.xml(places.get(each.get(_ID, ""), "")) if each.get("state", "visible") == "visible" else None
        if sheet is not None:
            yield Piece(2, each.get("name", f"Sheet {number}")[:MAX_TITLE], number)
            yield from _tables(sheet, shared, number)


def _tables(sheet: Element, shared: list[str], number: int) -> Iterator[Piece]:
    """The rows, some together, so that what is found says a little and not everything."""
    rows = (cells for row in islice(sheet.iter(f"{_S}row"), MAX_ROWS) if any(cells := _cells(row, shared)))
    while group := list(islice(rows, _ROWS_TOGETHER)):
        yield Piece(0, table_text(iter(group)), number, whole=True)


def _cells(row: Element, shared: list[str]) -> list[str]:
    found: dict[int, str] = {}
    for place, cell in enumerate(islice(row.iter(f"{_S}c"), MAX_COLUMNS)):
        letters = _LETTERS.match(cell.get("r", ""))
        column = _number(letters[0]) - 1 if letters else place
        if column < MAX_COLUMNS:
            found[column] = _value(cell, shared)
    return [found.get(column, "") for column in range(max(found, default=-1) + 1)]


def _value(cell: Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(each.text or "" for each in cell.iter(f"{_S}t"))
    text = cell.findtext(f"{_S}v") or ""
    if cell.get("t") != "s":
        return text
    return shared[int(text)] if text.isdecimal() and len(text) < 10 and int(text) < len(shared) else ""


def _number(letters: str) -> int:
    """The column that letters name, from 1: A, B, ... Z, AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _shared(parts: Parts) -> list[str]:
    root = parts.xml("xl/sharedStrings.xml")
    items = root.iter(f"{_S}si") if root is not None else ()
    return ["".join(each.text or "" for each in item.iter(f"{_S}t")) for item in items]
