"""Capabilities made of a document: itself, and each of its sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources.content import clip
from capdisc_indexer.sources.documents.cutting import MAX_SECTIONS, Section, sections
from capdisc_indexer.sources.documents.pieces import Piece
from capdisc_indexer.sources.files import FoundFile, content_hash, printable, source_ref
from capdisc_indexer.sources.made import MAX_ID, changed_at, made_part, noted, plain_part
from capdisc_indexer.sources.nodes import Json
from capdisc_indexer.sources.parts import LongText, Part
from capdisc_indexer.text import one_line, title_of
from capdisc_indexer.types import Descriptor, Finding, Loaded, Severity

LEAD_CHARACTERS = 400  # of a section's text, which its vector is made from
CATEGORY = "documents"
_NOT_IN_SLUG = re.compile(r"[^\w]+")


@frozen(kw_only=True)
class Document:
    """What a document says of itself, and its pieces in order."""

    format: str
    pieces: Sequence[Piece]
    title: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()


def described(file: FoundFile, document: Document, findings: Iterable[Finding] = ()) -> Loaded:
    """The document and its sections, each findable by itself; a document without text is a finding."""
    every = list(sections(document.pieces))
    kept = every[:MAX_SECTIONS]
    if not kept:
        nothing = noted(file, Severity.ERROR, "document-empty", "there is no text in it", "write some, or remove it")
        return Loaded(findings=(*findings, nothing))
    whole = _document(file, document, kept)
    parts = [made_part(whole, {"tags": list(document.tags)}), *_sections(file, whole, kept)]
    noticed = list(findings)
    if len(every) > len(kept):
        message = f"{len(every) - len(kept):,} of {len(every):,} sections are left out"
        noticed.append(noted(file, Severity.WARNING, "document-cut", message, "split the document"))
    descriptors = tuple(part.descriptor for part in parts if part.descriptor)
    return Loaded(descriptors=descriptors, findings=tuple(noticed), parts=tuple(parts))


def _document(file: FoundFile, document: Document, kept: Sequence[Section]) -> Descriptor:
    name = _name(file)
    title = document.title or _only_heading(document.pieces) or title_of(name)
    lead = document.description or one_line(kept[0].text, LEAD_CHARACTERS)
    outline: dict[str, None] = dict.fromkeys(each.title for each in kept if each.title and each.title != title)
    about = f" Sections: {one_line(', '.join(outline), LEAD_CHARACTERS)}." if outline else ""
    extra: dict[str, Json] = {
        "format": document.format,
        "last_updated": changed_at(file),
        "sections": [{"title": s.title or title, "level": s.level, "chunk": n} for n, s in enumerate(kept, 1)],
    }
    return Descriptor(
        id=f"document:{name}",
        kind="document",
        name=name,
        title=title,
        description=f"{lead}{about}",
        category=plain_part(file.name) or CATEGORY,
        tags=document.tags,
        content=clip(_text(document.pieces)),
        source=source_ref(file, ""),
        extra=extra,
    )


def _only_heading(pieces: Iterable[Piece]) -> str:
    """The heading of the first rank, where there is one and no other."""
    first = [piece.text for piece in pieces if piece.level == 1]
    return first[0] if len(first) == 1 else ""


def _text(pieces: Iterable[Piece]) -> str:
    """The document as Markdown again."""
    return "\n\n".join(f"{'#' * piece.level} {piece.text}" if piece.level else piece.text for piece in pieces)


def _sections(file: FoundFile, whole: Descriptor, kept: Sequence[Section]) -> Iterable[Part]:
    used: dict[str, None] = {}
    for number, each in enumerate(kept, 1):
        slug = _slug(each.title or whole.title, used, MAX_ID - len(f"section:{whole.name}.") - 8)
        title = each.title or whole.title
        path = each.path if whole.title in (*each.path, title) else (whole.title, *each.path)
        trail = " › ".join((*path, title))
        extra: dict[str, Json] = {
            "document": whole.id,
            "title": title,
            "level": each.level,
            "chunk": number,
            "part": each.part,
            "path": list(path),
        }
        section = Descriptor(
            id=f"section:{whole.name}.{slug}",
            kind="section",
            name=slug,
            title=title,
            description=f"{one_line(trail, 200)}: {one_line(each.text, LEAD_CHARACTERS)}",
            category=whole.category,
            content=each.text,
            source=replace(source_ref(file, content_hash(each.text.encode("utf-8", "replace"))), pointer=slug),
            extra=extra,
        )
        yield made_part(section, {}, (LongText(value=each.text, path=file.path, line=each.line),))


def _slug(title: str, used: dict[str, None], most: int) -> str:
    """The title as part of an id, numbered where it comes again."""
    plain = _NOT_IN_SLUG.sub("-", title.lower()).strip("-")[: max(8, min(most, 60))].strip("-") or "section"
    slug, number = plain, 1
    while slug in used:
        number += 1
        slug = f"{plain}-{number}"
    used[slug] = None
    return slug


def _name(file: FoundFile) -> str:
    """The declared name of a single file, else its place below the declared folder, dots for slashes."""
    if file.is_alone and plain_part(file.name):
        return plain_part(file.name)
    path = PurePath(printable(file.relative))
    return plain_part(".".join((*path.parts[:-1], path.stem))) or "document"
