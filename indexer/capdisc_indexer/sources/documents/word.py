"""A Word document's paragraphs, lists and tables, with the headings that its styles make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from capdisc_indexer.sources.documents.office_parts import Parts, RefusedError, table_text
from capdisc_indexer.sources.documents.pieces import MAX_TITLE, Piece

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading ([1-9])")
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}


def paragraphs(parts: Parts) -> Iterator[Piece]:
    """The pieces of the body; items of a list that follow each other are one."""
    root = parts.xml("word/document.xml")
    body = root.find(f"{_W}body") if root is not None else None
    if body is None:
        raise RefusedError("it is no Word document")
    levels, lists = _styles(parts)
    items: list[str] = []
    for number, each in enumerate(_blocks(body), 1):
        is_table = each.tag == f"{_W}tbl"
        text = table_text(_rows(each)) if is_table else _text(each).strip()
        level = 0 if is_table else levels.get(_style(each), 0)
        if not is_table and not level and text and (_style(each) in lists or _is_numbered(each)):
            items.append(f"- {text}")
            continue
        if items:
            yield Piece(0, "\n".join(items), number, whole=True)
            items = []
        if text:
            yield Piece(level, " ".join(text.split())[:MAX_TITLE] if level else text, number, whole=is_table)
    if items:
        yield Piece(0, "\n".join(items), 1, whole=True)


def _blocks(parent: Element) -> Iterator[Element]:
    """Paragraphs and tables, those inside content controls too."""
    for each in parent:
        if each.tag in {f"{_W}p", f"{_W}tbl"}:
            yield each
        elif each.tag in {f"{_W}sdt", f"{_W}sdtContent", f"{_W}customXml"}:
            yield from _blocks(each)


def _text(parent: Element) -> str:
    """What is written there and shown: text marked as deleted has another tag, hidden runs are passed over."""
    found = []
    for run in parent.iter(f"{_W}r"):
        if not _is_hidden(run):
            found += [(each.text or "") if each.tag == f"{_W}t" else _BREAKS.get(each.tag, "") for each in run]
    return "".join(found)


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


def _styles(parts: Parts) -> tuple[dict[str, int], set[str]]:
    """The level of each style that is a heading, one below the title's, and the styles of lists. Told by their names,
    which are English in every language, or their outline."""
    root = parts.xml("word/styles.xml")
    levels: dict[str, int] = {}
    lists: set[str] = set()
    for style in root.iter(f"{_W}style") if root is not None else ():
        identifier, named = style.get(f"{_W}styleId", ""), style.find(f"{_W}name")
        name = named.get(f"{_W}val", "").lower() if named is not None else ""
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
