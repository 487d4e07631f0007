"""PDF as blocks: the text of each page, below the headings of the outline, or below page numbers
if there is none.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from capdisc_data.document_blocks import (
    MAX_TITLE,
    DocumentBlock,
    encode_blocks,
    of_text,
)
from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line

MAX_PAGES = 2_000
MAX_PAGE_CHARACTERS = 50_000
_MAX_OUTLINE = 2_000


def read_request(request: JsonObject, data: bytes) -> JsonObject:
    """The blocks as JSON, or `error` and `hint`: the answer of the process that reads the
    document.
    """
    try:
        reader = lazy_imports.pypdf().PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "it is protected by a password", "hint": "save it without one"}
        pages = len(reader.pages)
        cut = f"{pages - MAX_PAGES:,} of {pages:,} pages are left out" if pages > MAX_PAGES else ""
        return encode_blocks(list(_blocks(reader)), _title(reader), cut)
    except CapdiscError as error:
        return {"error": error.message, "hint": error.hint}
    except RecursionError:
        return {"error": "it is nested too deeply"}
    except MemoryError:
        raise
    except Exception as error:  # pypdf raises whatever its parts raise
        return {"error": f"{type(error).__name__}: {error}"}


def _blocks(reader: Any) -> Iterator[DocumentBlock]:
    """The line of a block is the number of its page."""
    headings = _outline(reader)
    for index in range(min(len(reader.pages), MAX_PAGES)):
        page_number = index + 1
        if headings:
            yield from headings.get(index, ())
        else:
            yield DocumentBlock(2, f"Page {page_number}", page_number)
        for block in of_text(_text(reader.pages[index])):
            yield DocumentBlock(0, block.text, page_number)


def _text(page: Any) -> str:
    """The text of a page; "" if its content is damaged, so that the others can be read."""
    try:
        return str(page.extract_text())[:MAX_PAGE_CHARACTERS]
    except MemoryError:
        raise
    except Exception:
        return ""


def _outline(reader: Any) -> dict[int, list[DocumentBlock]]:
    """The headings of each page by its index, from 0."""
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
