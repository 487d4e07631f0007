"""PDF and Office documents, read in a process of their own."""

from __future__ import annotations

from pathlib import PurePath

from capdisc_indexer.sources.apart import ApartError, read_apart
from capdisc_indexer.sources.documents.described import Document, described
from capdisc_indexer.sources.documents.pieces import Piece
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.made import noted
from capdisc_indexer.text import one_line, plain
from capdisc_indexer.types import Loaded, Severity

MAX_SECONDS = 60
_HINT = "save it anew, or as Markdown or text"


def load(file: FoundFile, data: bytes) -> Loaded:
    """The document and its sections; whatever the file does to its reader, only this document is lost."""
    kind = PurePath(file.path).suffix.lower().lstrip(".")
    module = "documents.pdf" if kind == "pdf" else "documents.office"
    try:
        answer = read_apart(module, {"kind": kind}, data, MAX_SECONDS)
    except ApartError as error:
        return _refused(file, f"cannot be read: {error}", _HINT)
    if "error" in answer:
        return _refused(file, f"cannot be read: {one_line(answer['error'], 200)}", answer.get("hint") or _HINT)
    pieces = tuple(Piece(level, plain(text), line, whole) for level, text, line, whole in answer["pieces"])
    document = Document(format=kind, pieces=pieces, title=one_line(answer["title"], 200))
    cut = [noted(file, Severity.WARNING, "document-cut", answer["cut"], "split the document")] if answer["cut"] else []
    return described(file, document, cut)


def _refused(file: FoundFile, message: str, hint: str) -> Loaded:
    return Loaded(findings=(noted(file, Severity.ERROR, "document-unreadable", message, hint),))
