"""Markdown and plain text as documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from capdisc_indexer.model.types import Finding, LoadedFile
from capdisc_indexer.sources.formats.documents.document_blocks import of_markdown, of_text
from capdisc_indexer.sources.formats.documents.document_capabilities import (
    DocumentContent,
    build_document_capabilities,
)
from capdisc_indexer.sources.readers.frontmatter import split_front_matter
from capdisc_indexer.sources.readers.text_decoding import decode
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode, as_written
from capdisc_indexer.sources.readers.yaml_reader import read_yaml
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.text.normalization import one_line

MARKDOWN = (".md", ".markdown", ".mdx", ".mdown")
MAX_DESCRIPTION = 600


def load(file: FoundFile, data: bytes) -> LoadedFile:
    """The document and its sections."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return LoadedFile(findings=(text,))
    if not file.path.lower().endswith(MARKDOWN):
        kind = (
            "text"
            if PurePath(file.path).suffix.lower() in {"", ".txt", ".text"}
            else PurePath(file.path).suffix[1:]
        )
        return build_document_capabilities(
            file, DocumentContent(format=kind, pieces=tuple(of_text(text)))
        )
    return build_document_capabilities(file, _markdown(text, file.path))


def _markdown(text: str, path: str) -> DocumentContent:
    halves = split_front_matter(text, path)
    # A text that merely begins with a rule has no block, so all of it is the body.
    body, line = (halves.body, halves.body_line) if halves.block is not None else (text, 1)
    metadata = _front_matter(halves.block or "")
    return DocumentContent(
        format="markdown",
        pieces=tuple(of_markdown(body, line)),
        title=_one(metadata, "title"),
        description=_one(metadata, "description") or _one(metadata, "summary"),
        tags=_tags(metadata),
    )


def _front_matter(block: str) -> Mapping[str, Json]:
    """The fields of the front matter; none where it is no mapping, which is no mistake in a
    document.
    """
    documents = read_yaml(block).documents
    value = as_written(documents[0]) if documents and isinstance(documents[0], MapNode) else {}
    return value if isinstance(value, dict) else {}


def _one(metadata: Mapping[str, Json], key: str) -> str:
    value = metadata.get(key)
    return one_line(value, MAX_DESCRIPTION) if isinstance(value, str) else ""


def _tags(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    tags = metadata.get("tags") or metadata.get("keywords")
    listed = tags.split(",") if isinstance(tags, str) else tags if isinstance(tags, list) else []
    words = (one_line(tag, 60) for tag in listed if isinstance(tag, str))
    return tuple(dict.fromkeys(word for word in words if word))[:20]
