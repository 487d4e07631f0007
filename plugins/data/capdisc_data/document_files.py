"""Files that are documents: Markdown and plain text, and PDF and Office documents, which are read
in a process of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from capdisc_data.document_blocks import (
    DocumentBlock,
    of_markdown,
    of_text,
)
from capdisc_data.document_capabilities import (
    DocumentContent,
    build_document_capabilities,
)
from capdisc_data.refusals import catch_refusal, refuse, text_of
from capdisc_indexer.model.types import LoadedFile, Severity
from capdisc_indexer.sources.formats.parsed_capability import file_finding
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.reader_subprocess import (
    ReaderProcessError,
    read_in_subprocess,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, as_written
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line, strip_controls

MARKDOWN_ENDINGS = (".md", ".markdown", ".mdx", ".mdown")
MAX_DESCRIPTION = 600
MAX_SECONDS = 60  # for a reader in a separate process
_READER_MODULES = {
    ".pdf": "capdisc_data.pdf",
    ".docx": "capdisc_data.office",
    ".pptx": "capdisc_data.office",
    ".xlsx": "capdisc_data.office",
}
_SAVE_HINT = "save it again, or as Markdown or text"


@catch_refusal
def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The document and its sections."""
    reader_module = _READER_MODULES.get(PurePath(file.path).suffix.lower())
    if reader_module:
        return _load_in_subprocess(file, data, reader_module)
    text = text_of(file, data)
    if file.path.lower().endswith(MARKDOWN_ENDINGS):
        return build_document_capabilities(file, _markdown(text, file.path))
    suffix = PurePath(file.path).suffix
    kind = "text" if suffix.lower() in {"", ".txt", ".text"} else suffix[1:]
    return build_document_capabilities(
        file, DocumentContent(format=kind, pieces=tuple(of_text(text)))
    )


def _load_in_subprocess(file: FoundFile, data: bytes, module: str) -> LoadedFile:
    """Whatever the file does to its reader, only this document is lost."""
    kind = PurePath(file.path).suffix.lower().lstrip(".")
    try:
        answer = read_in_subprocess(module, {"kind": kind}, data, MAX_SECONDS)
    except ReaderProcessError as error:
        refuse(file, "document-unreadable", f"cannot be read: {error}", _SAVE_HINT)
    if "error" in answer:
        message = f"cannot be read: {one_line(answer['error'], 200)}"
        refuse(file, "document-unreadable", message, answer.get("hint") or _SAVE_HINT)
    blocks = tuple(
        DocumentBlock(level, strip_controls(text), line, is_whole)
        for level, text, line, is_whole in answer["pieces"]
    )
    document = DocumentContent(format=kind, pieces=blocks, title=one_line(answer["title"], 200))
    cut = answer["cut"]
    warning = file_finding(file, Severity.WARNING, "document-cut", cut, "split the document")
    return build_document_capabilities(file, document, (warning,) if cut else ())


def _markdown(text: str, path: str) -> DocumentContent:
    halves = split_front_matter(text, path)
    # A text that merely begins with a rule has no block, so all of it is the body.
    body, line = (halves.body, halves.body_line) if halves.block is not None else (text, 1)
    metadata = _front_matter(halves.block or "")
    return DocumentContent(
        format="markdown",
        pieces=tuple(of_markdown(body, line)),
        title=_text_field(metadata, "title"),
        description=_text_field(metadata, "description") or _text_field(metadata, "summary"),
        tags=_tags(metadata),
    )


def _front_matter(block: str) -> Mapping[str, Json]:
    """The fields of the front matter; none, and no error, if it is not a mapping."""
    documents = read_yaml(block).documents
    value = as_written(documents[0]) if documents and isinstance(documents[0], MapNode) else {}
    return value if isinstance(value, dict) else {}


def _text_field(metadata: Mapping[str, Json], key: str) -> str:
    value = metadata.get(key)
    return one_line(value, MAX_DESCRIPTION) if isinstance(value, str) else ""


def _tags(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    tags = metadata.get("tags") or metadata.get("keywords")
    listed = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else []
    words = (one_line(tag, 60) for tag in listed if isinstance(tag, str))
    return tuple(dict.fromkeys(word for word in words if word))[:20]
