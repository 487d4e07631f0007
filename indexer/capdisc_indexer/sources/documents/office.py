"""Office documents (docx, pptx, xlsx), which are XML in an archive: headings, paragraphs, lists and tables.

The standard library reads them; the packages that write them too bring ten megabytes along. What a reader of the
document does not see (deleted or hidden text, hidden sheets) is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from capdisc_indexer.sources.documents.office_parts import Parts, RefusedError
from capdisc_indexer.sources.documents.pieces import Piece
from capdisc_indexer.sources.documents.sheets import sheets
from capdisc_indexer.sources.documents.slides import slides
from capdisc_indexer.sources.documents.word import paragraphs

MAX_PIECES = 50_000
_READERS: Mapping[str, Callable[[Parts], Iterator[Piece]]] = {"docx": paragraphs, "pptx": slides, "xlsx": sheets}


def read_request(request: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The answer of the process that reads."""
    try:
        parts = Parts(data)
        pieces = list(islice(_READERS[request["kind"]](parts), MAX_PIECES + 1))
        return answer(pieces[:MAX_PIECES], parts.title(), "it is too long" if len(pieces) > MAX_PIECES else "")
    except RefusedError as error:
        return {"error": str(error)}
    except RecursionError:
        return {"error": "it is nested too deeply"}


def answer(pieces: list[Piece], title: str, cut: str = "") -> dict[str, Any]:
    """Pieces as JSON has them."""
    listed = [[piece.level, piece.text, piece.line, piece.whole] for piece in pieces]
    return {"pieces": listed, "title": title, "cut": f"not all of it is read: {cut}" if cut else ""}
