"""Office documents (docx, pptx, xlsx) as blocks: headings, paragraphs, lists and tables, read from
XML in a ZIP archive.

The standard library reads them; packages that also write them take ten megabytes. Text that a
person does not see in the document (deleted or hidden text, hidden sheets) is not read.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from capdisc_data.document_blocks import (
    MAX_TITLE,
    DocumentBlock,
    encode_blocks,
)
from capdisc_indexer.model.json_types import JsonObject

MAX_PART_BYTES = 64 * 1024 * 1024
MAX_BYTES = 256 * 1024 * 1024
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


class OfficeFileError(Exception):
    """The file is not an Office document, or larger than anyone would write."""


class OfficeArchive:
    """An open archive. Everything that is unpacked counts against one limit of MAX_BYTES."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise OfficeFileError(f"it is not an Office document ({error})") from error
        self._names = set(self._archive.namelist())
        self._bytes_left = MAX_BYTES

    def xml(self, name: str) -> ElementTree.Element | None:
        """The root of a part; None if there is no such part. Raises OfficeFileError."""
        if name not in self._names:
            return None
        data = self._read(name)
        # XML bombs are made of entities, which need a document type; no Office program writes one.
        if b"<!DOCTYPE" in data or b"<\0!\0D\0" in data or b"\0<\0!\0D" in data:
            raise OfficeFileError("a part of it declares a document type")
        try:
            return ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            raise OfficeFileError(f"a part of it is not XML ({error})") from error

    def relations(self, name: str) -> dict[str, str]:
        """The parts that the ids in a part refer to."""
        folder, base = posixpath.split(name)
        root = self.xml(f"{folder}/_rels/{base}.rels")
        relationships = root.iter(_RELATION) if root is not None else ()
        return {
            relationship.get("Id", ""): _join_part_name(folder, relationship.get("Target", ""))
            for relationship in relationships
        }

    def title(self) -> str:
        """The title in the document's properties, or ""."""
        root = self.xml("docProps/core.xml")
        return (root.findtext(f".//{_TITLE}") or "").strip() if root is not None else ""

    def _read(self, name: str) -> bytes:
        limit = min(MAX_PART_BYTES, self._bytes_left)
        try:
            with self._archive.open(name) as stream:
                data = stream.read(limit + 1)
        except (
            zipfile.BadZipFile,
            OSError,
            ValueError,
            NotImplementedError,
            RuntimeError,
            EOFError,
        ) as error:
            raise OfficeFileError(f"a part of it cannot be unpacked ({error})") from error
        if len(data) > limit:
            raise OfficeFileError("it unpacks to more than anyone would write")
        self._bytes_left -= len(data)
        return data


# Excel.
MAX_ROWS = 2_000  # of a sheet; a larger one is data, and better declared as a table
MAX_COLUMNS = 50
_ROWS_PER_TABLE = 25
_S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_SHEET_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_LETTERS = re.compile(r"[A-Z]{1,3}")
# PowerPoint.
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SLIDE_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TITLE_TYPES = {"title", "ctrTitle"}
# Word.
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading ([1-9])")
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}
# All of them.
MAX_PIECES = 50_000


def _join_part_name(folder: str, target: str) -> str:
    if target.startswith("/"):
        return target.lstrip("/")
    return posixpath.normpath(posixpath.join(folder, target))


def table_text(rows: Iterator[list[str]]) -> str:
    """Rows of cells as a Markdown table."""
    lines = [
        f"| {' | '.join(' '.join(cell.split()).replace('|', '/') for cell in row)} |"
        for row in rows
    ]
    rule = "|".join("---" for _ in range(max(1, lines[0].count("|") - 1))) if lines else ""
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]]) if lines else ""


# Workbooks: each sheet as tables of its first rows, below its name.


def read_sheets(parts: OfficeArchive) -> Iterator[DocumentBlock]:
    """The name and the rows of each visible sheet."""
    root = parts.xml("xl/workbook.xml")
    if root is None:
        raise OfficeFileError("it is not a workbook")
    places = parts.relations("xl/workbook.xml")
    shared = _shared_strings(parts)
    for number, sheet_entry in enumerate(root.iter(f"{_S}sheet"), 1):
        if sheet_entry.get("state", "visible") != "visible":
            continue
        sheet = parts.xml(places.get(sheet_entry.get(_SHEET_RELATION, ""), ""))
        if sheet is not None:
            yield DocumentBlock(2, sheet_entry.get("name", f"Sheet {number}")[:MAX_TITLE], number)
            yield from _tables(sheet, shared, number)


def _tables(sheet: Element, shared: list[str], number: int) -> Iterator[DocumentBlock]:
    """The rows in groups, so that a hit shows a few of them and not the whole sheet."""
    rows = (
        cells
        for row in islice(sheet.iter(f"{_S}row"), MAX_ROWS)
        if any(cells := _cells(row, shared))
    )
    while group := list(islice(rows, _ROWS_PER_TABLE)):
        yield DocumentBlock(0, table_text(iter(group)), number, whole=True)


def _cells(row: Element, shared: list[str]) -> list[str]:
    cells: dict[int, str] = {}
    for place, cell in enumerate(islice(row.iter(f"{_S}c"), MAX_COLUMNS)):
        letters = _LETTERS.match(cell.get("r", ""))
        column = _column_number(letters[0]) - 1 if letters else place
        if column < MAX_COLUMNS:
            cells[column] = _cell_text(cell, shared)
    return [cells.get(column, "") for column in range(max(cells, default=-1) + 1)]


def _cell_text(cell: Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(text_run.text or "" for text_run in cell.iter(f"{_S}t"))
    text = cell.findtext(f"{_S}v") or ""
    if cell.get("t") != "s":
        return text
    is_index = text.isdecimal() and len(text) < 10 and int(text) < len(shared)
    return shared[int(text)] if is_index else ""


def _column_number(letters: str) -> int:
    """The number of a column from its letters, from 1: A, B, ... Z, AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _shared_strings(parts: OfficeArchive) -> list[str]:
    root = parts.xml("xl/sharedStrings.xml")
    items = root.iter(f"{_S}si") if root is not None else ()
    return ["".join(text_run.text or "" for text_run in item.iter(f"{_S}t")) for item in items]


# Presentations: the slides in their order, each with its title as a heading.


def read_slides(parts: OfficeArchive) -> Iterator[DocumentBlock]:
    """Heading, text and tables of each visible slide."""
    root = parts.xml("ppt/presentation.xml")
    if root is None:
        raise OfficeFileError("it is not a presentation")
    places = parts.relations("ppt/presentation.xml")
    for number, slide_entry in enumerate(root.iter(f"{_P}sldId"), 1):
        slide = parts.xml(places.get(slide_entry.get(_SLIDE_RELATION, ""), ""))
        if slide is not None and slide.get("show", "1") not in {"0", "false"}:
            yield from _slide(slide, number)


def _slide(slide: Element, number: int) -> Iterator[DocumentBlock]:
    shapes = list(slide.iter(f"{_P}sp"))
    title = " ".join(text for shape in shapes if _is_title(shape) for text in _paragraphs(shape))
    yield DocumentBlock(2, " ".join(title.split())[:MAX_TITLE] or f"Slide {number}", number)
    for shape in shapes:
        if not _is_title(shape) and (lines := list(_paragraphs(shape))):
            yield DocumentBlock(0, "\n".join(lines), number, whole=len(lines) > 1)
    for table in slide.iter(f"{_A}tbl"):
        rows = (
            [" ".join(_paragraphs(cell)) for cell in row.iter(f"{_A}tc")]
            for row in table.iter(f"{_A}tr")
        )
        yield DocumentBlock(0, table_text(rows), number, whole=True)


def _is_title(shape: Element) -> bool:
    mark = shape.find(f".//{_P}nvPr/{_P}ph")
    return mark is not None and mark.get("type") in _TITLE_TYPES


def _paragraphs(parent: Element) -> Iterator[str]:
    for paragraph in parent.iter(f"{_A}p"):
        text = "".join(run.text or "" for run in paragraph.iter(f"{_A}t")).strip()
        if text:
            yield text


# Word documents: paragraphs, lists and tables, and headings by their styles.


def read_paragraphs(parts: OfficeArchive) -> Iterator[DocumentBlock]:
    """The blocks of the body; successive items of a list are one block."""
    root = parts.xml("word/document.xml")
    body = root.find(f"{_W}body") if root is not None else None
    if body is None:
        raise OfficeFileError("it is not a Word document")
    levels, lists = _styles(parts)
    items: list[str] = []
    for number, block in enumerate(_blocks(body), 1):
        is_table = block.tag == f"{_W}tbl"
        text = table_text(_rows(block)) if is_table else _text(block).strip()
        level = 0 if is_table else levels.get(_style(block), 0)
        if not is_table and not level and text and (_style(block) in lists or _is_numbered(block)):
            items.append(f"- {text}")
            continue
        if items:
            yield DocumentBlock(0, "\n".join(items), number, whole=True)
            items = []
        if text:
            yield DocumentBlock(
                level,
                " ".join(text.split())[:MAX_TITLE] if level else text,
                number,
                whole=is_table,
            )
    if items:
        yield DocumentBlock(0, "\n".join(items), 1, whole=True)


def _blocks(parent: Element) -> Iterator[Element]:
    """Paragraphs and tables, including those inside content controls."""
    for child in parent:
        if child.tag in {f"{_W}p", f"{_W}tbl"}:
            yield child
        elif child.tag in {f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml"}:
            yield from _blocks(child)


def _text(parent: Element) -> str:
    """The visible text: hidden runs are skipped, and deleted text has another tag."""
    texts: list[str] = []
    for run in parent.iter(f"{_W}r"):
        if _is_hidden(run):
            continue
        texts += [
            (node.text or "") if node.tag == f"{_W}t" else _BREAKS.get(node.tag, "")
            for node in run
        ]
    return "".join(texts)


def _is_hidden(run: Element) -> bool:
    mark = run.find(f"{_W}rPr/{_W}vanish")
    return mark is not None and mark.get(f"{_W}val", "1") not in {"0", "false", "off"}


def _rows(table: Element) -> Iterator[list[str]]:
    for row in table.findall(f"{_W}tr"):
        yield [_text(cell) for cell in row.findall(f"{_W}tc")]


def _style(paragraph: Element) -> str:
    mark = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return mark.get(f"{_W}val", "") if mark is not None else ""


def _is_numbered(parent: Element) -> bool:
    return parent.find(f"{_W}pPr/{_W}numPr") is not None


def _styles(parts: OfficeArchive) -> tuple[dict[str, int], set[str]]:
    """The levels of the styles that are headings, by id, and the styles of lists.

    They are recognised by their names, which are English in every language, or their outline.
    Headings begin one level below the title.
    """
    root = parts.xml("word/styles.xml")
    levels: dict[str, int] = {}
    lists: set[str] = set()
    for style in root.iter(f"{_W}style") if root is not None else ():
        identifier, name_node = style.get(f"{_W}styleId", ""), style.find(f"{_W}name")
        name = name_node.get(f"{_W}val", "").lower() if name_node is not None else ""
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        rank = outline.get(f"{_W}val", "") if outline is not None else ""
        if heading := _HEADING.fullmatch(name):
            levels[identifier] = min(6, int(heading[1]) + 1)
        elif name == "title":
            levels[identifier] = 1
        elif rank.isdecimal() and int(rank) < 6:
            levels[identifier] = min(6, int(rank) + 2)
        elif name.startswith("list ") or _is_numbered(style):
            lists.add(identifier)
    return levels, lists


_READERS: Mapping[str, Callable[[OfficeArchive], Iterator[DocumentBlock]]] = {
    "docx": read_paragraphs,
    "pptx": read_slides,
    "xlsx": read_sheets,
}


def read_request(request: JsonObject, data: bytes) -> JsonObject:
    """The blocks as JSON, or an `error`: the answer of the process that reads the document."""
    try:
        parts = OfficeArchive(data)
        pieces = list(islice(_READERS[request["kind"]](parts), MAX_PIECES + 1))
        cut = "it is too long" if len(pieces) > MAX_PIECES else ""
        return encode_blocks(pieces[:MAX_PIECES], parts.title(), cut)
    except OfficeFileError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": "it is nested too deeply"}
