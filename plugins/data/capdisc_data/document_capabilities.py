"""Capabilities made of a document: itself, and its sections, which are cut at headings and, where
they are long, at paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath

from capdisc_data.document_blocks import DocumentBlock
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor, Finding, LoadedFile, Severity
from capdisc_indexer.sources.formats.naming_rules import MAX_ID, plain_part
from capdisc_indexer.sources.formats.parsed_capability import (
    LongText,
    ParsedCapability,
    changed_at,
    clip_content,
    file_finding,
    made_part,
)
from capdisc_indexer.sources.readers.yaml_nodes import Json
from capdisc_indexer.sources.scan.scanned_files import (
    FoundFile,
    content_hash,
    printable_path,
    source_ref,
)
from capdisc_indexer.text.normalization import one_line, readable_title

CHUNK_CHARACTERS = 1_500
# Tables, lists and code stay whole up to this length; a longer one is not read in one go, and
# content has a limit.
WHOLE_CHARACTERS = 12_000
MAX_SECTIONS = 5_000
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n")
LEAD_CHARACTERS = 400  # of a section's text that go into its description, and so its vector
DOCUMENT_CATEGORY = "documents"
_NOT_IN_SLUG = re.compile(r"[^\w]+")


@frozen(kw_only=True)
class DocumentContent:
    """The metadata of a document, and its blocks in order."""

    format: str
    pieces: Sequence[DocumentBlock]
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()


def build_document_capabilities(
    file: FoundFile, document: DocumentContent, findings: Iterable[Finding] = ()
) -> LoadedFile:
    """The document and its sections, each as a capability; a document without text is a
    finding.
    """
    all_sections = list(split_sections(document.pieces))
    indexed_sections = all_sections[:MAX_SECTIONS]
    if not indexed_sections:
        no_text = file_finding(
            file,
            Severity.ERROR,
            "document-empty",
            "there is no text in it",
            "write some, or remove it",
        )
        return LoadedFile(findings=(*findings, no_text))
    document_capability = _document(file, document, indexed_sections)
    parts = [
        made_part(document_capability, {"tags": list(document.tags)}),
        *_sections(file, document_capability, indexed_sections),
    ]
    all_findings = list(findings)
    if left_out := len(all_sections) - len(indexed_sections):
        message = f"{left_out:,} of {len(all_sections):,} sections are left out"
        all_findings.append(
            file_finding(file, Severity.WARNING, "document-cut", message, "split the document")
        )
    return LoadedFile(parts=tuple(parts), findings=tuple(all_findings))


def _document(
    file: FoundFile, document: DocumentContent, indexed_sections: Sequence[DocumentSection]
) -> Descriptor:
    name = _name(file)
    title = document.title or _only_heading(document.pieces) or readable_title(name)
    lead = document.description or one_line(indexed_sections[0].text, LEAD_CHARACTERS)
    outline: dict[str, None] = dict.fromkeys(
        section.title for section in indexed_sections if section.title and section.title != title
    )
    end = "" if lead.endswith((".", "!", "?", ":", "…")) else "."
    about = f"{end} Sections: {one_line(', '.join(outline), LEAD_CHARACTERS)}." if outline else ""
    extra: dict[str, Json] = {
        "format": document.format,
        "last_updated": changed_at(file),
        "sections": [
            {"title": s.title or title, "level": s.level, "chunk": n}
            for n, s in enumerate(indexed_sections, 1)
        ],
    }
    return Descriptor(
        id=f"document:{name}",
        kind="document",
        name=name,
        title=title,
        description=f"{lead}{about}",
        category=plain_part(file.name) or DOCUMENT_CATEGORY,
        tags=document.tags,
        content=clip_content(_text(document.pieces)),
        source=source_ref(file, ""),
        extra=extra,
    )


def _only_heading(pieces: Iterable[DocumentBlock]) -> str:
    """The heading of level 1, if there is exactly one; else ""."""
    headings = [piece.text for piece in pieces if piece.level == 1]
    return headings[0] if len(headings) == 1 else ""


def _text(pieces: Iterable[DocumentBlock]) -> str:
    """The document as Markdown."""
    return "\n\n".join(
        f"{'#' * piece.level} {piece.text}" if piece.level else piece.text for piece in pieces
    )


def _sections(
    file: FoundFile, document_capability: Descriptor, indexed_sections: Sequence[DocumentSection]
) -> Iterable[ParsedCapability]:
    used_slugs: set[str] = set()
    max_slug_length = MAX_ID - len(f"section:{document_capability.name}.") - 8
    for number, piece in enumerate(indexed_sections, 1):
        title = piece.title or document_capability.title
        slug = _slug(title, used_slugs, max_slug_length)
        path = piece.path
        if document_capability.title not in (*path, title):
            path = (document_capability.title, *path)
        trail = " › ".join((*path, title))
        extra: dict[str, Json] = {
            "document": document_capability.id,
            "title": title,
            "level": piece.level,
            "chunk": number,
            "part": piece.part,
            "path": list(path),
        }
        digest = content_hash(piece.text.encode("utf-8", "replace"))
        section = Descriptor(
            id=f"section:{document_capability.name}.{slug}",
            kind="section",
            name=slug,
            title=title,
            description=f"{one_line(trail, 200)}: {one_line(piece.text, LEAD_CHARACTERS)}",
            category=document_capability.category,
            content=piece.text,
            source=source_ref(file, digest, slug),
            extra=extra,
        )
        yield made_part(
            section, {}, (LongText(value=piece.text, path=file.path, line=piece.line),)
        )


def _slug(title: str, used_slugs: set[str], max_length: int) -> str:
    """The title as part of an id, with a number if it is used already; adds it to `used_slugs`."""
    words = _NOT_IN_SLUG.sub("-", title.lower()).strip("-")
    base = words[: max(8, min(max_length, 60))].strip("-") or "section"
    slug, number = base, 1
    while slug in used_slugs:
        number += 1
        slug = f"{base}-{number}"
    used_slugs.add(slug)
    return slug


def _name(file: FoundFile) -> str:
    """The declared name of a single file, else its path below the declared folder with dots for
    slashes.
    """
    if file.is_alone and plain_part(file.name):
        return plain_part(file.name)
    path = PurePath(printable_path(file.relative))
    return plain_part(".".join((*path.parts[:-1], path.stem))) or "document"


@frozen(kw_only=True)
class DocumentSection:
    """One chunk of text, its heading (level 0: none yet), and as `path` the headings above that.
    `part` counts the chunks below one heading, from 1.
    """

    title: str
    level: int
    path: tuple[str, ...]
    text: str
    line: int
    part: int


def split_sections(
    pieces: Iterable[DocumentBlock], size: int = CHUNK_CHARACTERS
) -> Iterator[DocumentSection]:
    """The sections in the order of the text; a heading without text below it has none."""
    above: list[DocumentBlock] = []
    pending: list[DocumentBlock] = []
    for piece in pieces:
        if not piece.level:
            pending.append(piece)
            continue
        yield from _sections_below(above, pending, size)
        above = [*[heading for heading in above if heading.level < piece.level], piece]
        pending = []
    yield from _sections_below(above, pending, size)


def _sections_below(
    above: Sequence[DocumentBlock], blocks: Sequence[DocumentBlock], size: int
) -> Iterator[DocumentSection]:
    titles = [piece.text for piece in above]
    for part, (text, line) in enumerate(_pack_blocks(blocks, size), 1):
        yield DocumentSection(
            title=titles[-1] if titles else "",
            level=above[-1].level if above else 0,
            path=tuple(titles[:-1]),
            text=text,
            line=line,
            part=part,
        )


def _pack_blocks(blocks: Sequence[DocumentBlock], size: int) -> Iterator[tuple[str, int]]:
    """Chunks of successive blocks up to the size, each with its first line; whole blocks may be
    longer.
    """
    chunk: list[str] = []
    line, length = 1, 0
    for block in (piece for block_group in blocks for piece in _split_block(block_group, size)):
        if chunk and length + len(block.text) > size:
            yield "\n\n".join(chunk), line
            chunk, length = [], 0
        line = line if chunk else block.line
        chunk.append(block.text)
        length += len(block.text) + 2
    if chunk:
        yield "\n\n".join(chunk), line


def _split_block(block: DocumentBlock, size: int) -> Iterator[DocumentBlock]:
    """The block, or its parts if it is too long: cut at the ends of lines if it is whole, else of
    sentences.
    """
    max_size = WHOLE_CHARACTERS if block.whole else size
    if len(block.text) <= max_size:
        yield block
        return
    start = 0
    while start < len(block.text):
        end = _cut_place(block, start, start + max_size)
        yield DocumentBlock(
            0,
            block.text[start:end].strip("\n "),
            block.line + block.text.count("\n", 0, start),
            block.whole,
        )
        start = end


def _cut_place(block: DocumentBlock, start: int, limit: int) -> int:
    """The best offset to cut at, in the second half before `limit`."""
    if limit >= len(block.text):
        return len(block.text)
    middle = start + (limit - start) // 2
    if block.whole:
        cut = block.text.rfind("\n", middle, limit) + 1
    else:
        cut = max(
            (sentence.end() for sentence in _SENTENCE.finditer(block.text, middle, limit)),
            default=0,
        )
    return cut or block.text.rfind(" ", middle, limit) + 1 or limit
