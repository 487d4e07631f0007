"""Markdown and plain text as documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from capdisc_indexer.sources.decoding import decode
from capdisc_indexer.sources.documents.described import Document, described
from capdisc_indexer.sources.documents.pieces import of_markdown, of_text
from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.sources.frontmatter import split
from capdisc_indexer.sources.nodes import Json, MapNode, as_written
from capdisc_indexer.sources.yaml_reader import read_yaml
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Finding, Loaded

MARKDOWN = (".md", ".markdown", ".mdx", ".mdown")
MAX_DESCRIPTION = 600


def load(file: FoundFile, data: bytes) -> Loaded:
    """The document and its sections."""
    text = decode(data, file.path)
    if isinstance(text, Finding):
        return Loaded(findings=(text,))
    if not file.path.lower().endswith(MARKDOWN):
        kind = "text" if PurePath(file.path).suffix.lower() in {"", ".txt", ".text"} else PurePath(file.path).suffix[1:]
        return described(file, Document(format=kind, pieces=tuple(of_text(text))))
    return described(file, _markdown(text, file.path))


def _markdown(text: str, path: str) -> Document:
    halves = split(text, path)
    # A text that merely begins with a rule has no block, so all of it is the body.
    body, line = (halves.body, halves.body_line) if halves.block is not None else (text, 1)
    said = _said(halves.block or "")
    return Document(
        format="markdown",
        pieces=tuple(of_markdown(body, line)),
        title=_one(said, "title"),
        description=_one(said, "description") or _one(said, "summary"),
        tags=_tags(said),
    )


def _said(block: str) -> Mapping[str, Json]:
    """The fields of the front matter; none where it is no mapping, which is no mistake in a document."""
    documents = read_yaml(block).documents
    value = as_written(documents[0]) if documents and isinstance(documents[0], MapNode) else {}
    return value if isinstance(value, dict) else {}


def _one(said: Mapping[str, Json], key: str) -> str:
    value = said.get(key)
    return one_line(value, MAX_DESCRIPTION) if isinstance(value, str) else ""


def _tags(said: Mapping[str, Json]) -> tuple[str, ...]:
    given = said.get("tags") or said.get("keywords")
    listed = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    words = (one_line(tag, 60) for tag in listed if isinstance(tag, str))
    return tuple(dict.fromkeys(word for word in words if word))[:20]
