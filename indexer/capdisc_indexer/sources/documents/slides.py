"""A presentation's slides in their order, each with its title as a heading."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from capdisc_indexer.sources.documents.office_parts import Parts, RefusedError, table_text
from capdisc_indexer.sources.documents.pieces import MAX_TITLE, Piece

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_TITLES = {"title", "ctrTitle"}


def slides(parts: Parts) -> Iterator[Piece]:
    """Heading, text and tables of each slide that is shown."""
    root = parts.xml("ppt/presentation.xml")
    if root is None:
        raise RefusedError("it is no presentation")
    places = parts.relations("ppt/presentation.xml")
    for number, each in enumerate(root.iter(f"{_P}sldId"), 1):
        slide = parts.xml(places.get(each.get(_ID, ""), ""))
        if slide is not None and slide.get("show", "1") not in {"0", "false"}:
            yield from _slide(slide, number)


def _slide(slide: Element, number: int) -> Iterator[Piece]:
    shapes = list(slide.iter(f"{_P}sp"))
    title = " ".join(text for each in shapes if _is_title(each) for text in _paragraphs(each))
    yield Piece(2, " ".join(title.split())[:MAX_TITLE] or f"Slide {number}", number)
    for each in shapes:
        if not _is_title(each) and (lines := list(_paragraphs(each))):
            yield Piece(0, "\n".join(lines), number, whole=len(lines) > 1)
    for table in slide.iter(f"{_A}tbl"):
        rows = ([" ".join(_paragraphs(cell)) for cell in row.iter(f"{_A}tc")] for row in table.iter(f"{_A}tr"))
        yield Piece(0, table_text(rows), number, whole=True)


def _is_title(shape: Element) -> bool:
    mark = shape.find(f".//{_P}nvPr/{_P}ph")
    return mark is not None and mark.get("type") in _TITLES


def _paragraphs(parent: Element) -> Iterator[str]:
    for paragraph in parent.iter(f"{_A}p"):
        text = "".join(run.text or "" for run in paragraph.iter(f"{_A}t")).strip()
        if text:
            yield text
