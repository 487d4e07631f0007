"""PDF: the text of each page, below the headings of its outline, or below the page's number where
it has none.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.sources.formats.documents.document_blocks import (
    MAX_TITLE,
    DocumentBlock,
    of_text,
)
from capdisc_indexer.sources.formats.documents.office import encode_blocks
from capdisc_indexer.text.normalization import one_line

MAX_PAGES = 2_000
MAX_PAGE_CHARACTERS = 50_000
_MAX_OUTLINE = 2_000


def read_request(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The answer of the process that reads."""
    try:
        reader = lazy_imports.pypdf().PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is protected by a password", "hint": "save it without one"}
        pages = len(reader.pages)
        cut = f"{pages - MAX_PAGES:,} of {pages:,} pages are left out" if pages > MAX_PAGES else ""
        return encode_blocks(list(_pieces(reader)), _title(reader), cut)
    except CapdiscError as error:
        return {"error": error.message, "hint": error.hint}
    except RecursionError:
        return {"error": "it is nested too deeply"}
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises whatever its parts raise
        return {"error": f"{type(error).__name__}: {error}"}


def _pieces(reader: Any) -> Iterator[DocumentBlock]:
    headings = _outline(reader)
    for number in range(min(len(reader.pages), MAX_PAGES)):
        yield from headings.get(
            number, [] if headings else [DocumentBlock(2, f"Page {number + 1}", number + 1)]
        )
        for piece in of_text(_text(reader.pages[number])):
            yield DocumentBlock(0, piece.text, number + 1)


def _text(page: Any) -> str:
    """What is written on a page; nothing where its content is damaged, so that the others can be
    read.
    """
    try:
        return str(page.extract_text())[:MAX_PAGE_CHARACTERS]
    except MemoryError:
        raise
    except Exception:
        return ""


def _outline(reader: Any) -> dict[int, list[DocumentBlock]]:
    """The headings that begin on each page, counted from 0."""
    headings: dict[int, list[DocumentBlock]] = {}
    pending = [(1, iter(reader.outline))]
    count = 0
    while pending and count < _MAX_OUTLINE:
        level, entries = pending[-1]
        entry = next(entries, None)
        count += 1
        if entry is None:
            pending.pop()
        elif isinstance(entry, list):
            pending.append((min(6, level + 1), iter(entry)))
        elif (number := reader.get_destination_page_number(entry)) is not None and number >= 0:
            headings.setdefault(number, []).append(
                DocumentBlock(level, one_line(str(entry.title), MAX_TITLE), number + 1)
            )
    return headings


def _title(reader: Any) -> str:
    return str((reader.metadata and reader.metadata.title) or "")
