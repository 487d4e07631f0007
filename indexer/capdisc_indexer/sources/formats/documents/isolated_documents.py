"""PDF and Office documents, read in a process of their own."""

from __future__ import annotations

from pathlib import PurePath

from capdisc_indexer.model.types import LoadedFile, Severity
from capdisc_indexer.sources.formats.derived_capability import file_finding
from capdisc_indexer.sources.formats.documents.document_blocks import DocumentBlock
from capdisc_indexer.sources.formats.documents.document_capabilities import (
    DocumentContent,
    build_document_capabilities,
)
from capdisc_indexer.sources.readers.reader_subprocess import ReaderProcessError, read_in_subprocess
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, strip_controls

MAX_SECONDS = 60
_HINT = "save it anew, or as Markdown or text"


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The document and its sections; whatever the file does to its reader, only this document is
    lost.
    """
    kind = PurePath(file.path).suffix.lower().lstrip(".")
    module = "documents.pdf" if kind == "pdf" else "documents.office"
    try:
        answer = read_in_subprocess(module, {"kind": kind}, data, MAX_SECONDS)
    except ReaderProcessError as error:
        return _refuse_document(file, f"cannot be read: {error}", _HINT)
    if "error" in answer:
        return _refuse_document(
            file, f"cannot be read: {one_line(answer['error'], 200)}", answer.get("hint") or _HINT
        )
    pieces = tuple(
        DocumentBlock(level, strip_controls(text), line, is_whole)
        for level, text, line, is_whole in answer["pieces"]
    )
    document = DocumentContent(format=kind, pieces=pieces, title=one_line(answer["title"], 200))
    cut = (
        [file_finding(file, Severity.WARNING, "document-cut", answer["cut"], "split the document")]
        if answer["cut"]
        else []
    )
    return build_document_capabilities(file, document, cut)


def _refuse_document(file: FoundFile, message: str, hint: str) -> LoadedFile:
    return LoadedFile(
        findings=(file_finding(file, Severity.ERROR, "document-unreadable", message, hint),)
    )
