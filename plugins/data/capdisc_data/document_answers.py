"""Documents and their sections: listed, read, and searched for passages.

The index holds a document whole, with its sections as capabilities of their own where its loader
made such; else its Markdown headings make them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from capdisc_data.data_lookup import may_be_part_of
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import Arguments, CapabilityHeader
from capdisc_indexer.model.types import Descriptor, Hit
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.text.sections import split_sections
from capdisc_indexer.tools.capability_lookup import (
    capability_metadata,
    excerpt,
    find_capability,
    headers_of_kinds,
    int_value,
    is_part_of,
    local_name,
    name_without_kind,
    search_capabilities,
    sequence_value,
    short_description,
    text_list,
    text_value,
)
from capdisc_indexer.tools.tool_types import ToolAnswer, ToolContext

TEXT_KINDS = ("document", "section")


@frozen(kw_only=True)
class StoredSection:
    """One section of a document. `level` is that of its heading (1 is the highest), `chunk` its
    number in the document from 1, and `path` the titles above it. `id` is "" where the index holds
    the section only as a part of the document's text.
    """

    title: str
    level: int
    chunk: int
    path: tuple[str, ...]
    text: str
    id: str = ""


def _list_sections(ctx: ToolContext, document: Descriptor) -> list[StoredSection]:
    """The sections of a document in order: those that the index holds as capabilities, else those
    below its headings.
    """
    stored_sections = [
        _parse_section(descriptor) for descriptor in _stored_sections(ctx, document)
    ]
    return sorted(stored_sections, key=lambda section: section.chunk) or list(
        _split_by_headings(strip_controls(document.content))
    )


def _stored_sections(ctx: ToolContext, document: Descriptor) -> Iterator[Descriptor]:
    for header in headers_of_kinds(ctx, "section"):
        if may_be_part_of(header, local_name(document.id)):
            descriptor = ctx.index.full_descriptor(header)
            if _is_section_of(descriptor, document):
                yield descriptor


def _is_section_of(section: Descriptor, document: Descriptor) -> bool:
    declared_document = text_value(capability_metadata(section), "document")
    if declared_document:
        return declared_document in (document.id, document.name)
    return is_part_of(section, document.name)


def _parse_section(descriptor: Descriptor) -> StoredSection:
    metadata = capability_metadata(descriptor)
    return StoredSection(
        title=text_value(metadata, "title") or descriptor.title,
        level=int_value(metadata, "level") or 1,
        chunk=int_value(metadata, "chunk") or 1,
        path=tuple(text_list(metadata, "path")) if sequence_value(metadata, "path") else (),
        text=strip_controls(descriptor.content or descriptor.description),
        id=descriptor.id,
    )


def _split_by_headings(content: str) -> Iterator[StoredSection]:
    """What stands below each heading, up to the next one."""
    headings = [section for section in split_sections(content) if section.level]
    ends = [*(section.start for section in headings[1:]), len(content)]
    above: list[tuple[int, str]] = []
    for chunk, (section, end) in enumerate(zip(headings, ends, strict=False), 1):
        title = one_line(section.heading)
        above = [ancestor for ancestor in above if ancestor[0] < section.level]
        yield StoredSection(
            title=title,
            level=section.level,
            chunk=chunk,
            path=tuple(ancestor_title for _, ancestor_title in above),
            text=content[section.start : end].strip("\n"),
        )
        above.append((section.level, title))


def _section_with_children(sections: Sequence[StoredSection], heading: str) -> list[StoredSection]:
    """The first section whose title is the heading, or else has it in it, with everything below.
    Raises UsageError with the titles.
    """
    wanted_title = heading.lower().lstrip("# ").strip()
    titles = [section.title.lower() for section in sections]
    exact = [position for position, title in enumerate(titles) if title == wanted_title]
    partial = [position for position, title in enumerate(titles) if wanted_title in title]
    if not exact + partial:
        listed_titles = ", ".join(
            dict.fromkeys(one_line(section.title, 60) for section in sections[:20])
        )
        raise UsageError(
            f"there is no section {one_line(heading, 80)!r}",
            f"it has: {listed_titles or 'no headings'}",
        )
    first = (exact + partial)[0]
    end = first + 1
    while end < len(sections) and _is_below(sections[first], sections[end]):
        end += 1
    return list(sections[first:end])


def _is_below(first: StoredSection, section: StoredSection) -> bool:
    """Whether the section belongs to the first; a long section is stored as several of one title,
    one after the other.
    """
    return section.level > first.level or (section.title, section.path) == (
        first.title,
        first.path,
    )


class DocumentRow(TypedDict):
    """A document in a list."""

    name: str
    type: str
    format: str
    description: str
    tags: list[str]


def list_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """All documents."""
    return {
        "documents": [
            _document_row(ctx.index.full_descriptor(header))
            for header in headers_of_kinds(ctx, "document")
        ]
    }


def _document_row(document: Descriptor) -> DocumentRow:
    metadata = capability_metadata(document)
    return {
        "name": document.name,
        "type": text_value(metadata, "type") or "file",
        "format": text_value(metadata, "format") or "text",
        "description": short_description(document),
        "tags": list(document.tags),
    }


def get_document(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The text of a document with its headings."""
    document = find_capability(ctx, arguments["name"], "document")
    sections, metadata = _list_sections(ctx, document), capability_metadata(document)
    last_updated = text_value(metadata, "last_updated") or None
    return {
        "name": document.name,
        "content": strip_controls(document.content) or _join_texts(sections),
        "format": text_value(metadata, "format") or "text",
        "last_updated": last_updated,
        "loaded_at": last_updated,
        # `chunk` is the number that get_page_by_number takes.
        "sections": [
            {"title": section.title, "level": section.level, "chunk": section.chunk}
            for section in sections
        ],
    }


def get_document_section(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """A section with everything below its heading."""
    document = find_capability(ctx, arguments["name"], "document")
    sections = _section_with_children(_list_sections(ctx, document), arguments["section"])
    return {
        "name": document.name,
        "section": sections[0].title,
        "path": list(sections[0].path),
        "content": _join_texts(sections),
    }


def _join_texts(sections: Sequence[StoredSection]) -> str:
    return "\n\n".join(section.text for section in sections)


def get_page(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """Part N of a document, as its index counts them."""
    name, number = arguments.get("document", ""), arguments["page_number"]
    document = find_capability(ctx, name, "document") if name else _only_document(ctx)
    sections = _list_sections(ctx, document)
    section = next((section for section in sections if section.chunk == number), None)
    if section is None:
        raise UsageError(
            f"{one_line(document.name, 80)} has no page {number}",
            f"it has the pages 1 to {len(sections)}",
        )
    return {
        "document": document.name,
        "page_number": section.chunk,
        "pages": len(sections),
        "section": section.title,
        "content": section.text,
    }


def _only_document(ctx: ToolContext) -> Descriptor:
    headers = list(headers_of_kinds(ctx, "document"))
    if len(headers) != 1:
        listed_names = ", ".join(one_line(header["name"], 60) for header in headers[:20])
        raise UsageError(
            f"there are {len(headers)} documents",
            f"say which: {listed_names or 'none is indexed yet'}",
        )
    return ctx.index.full_descriptor(headers[0])


class PassageRow(TypedDict):
    """A passage that a search found. `section` is "" where the document itself is the hit."""

    id: str
    document: str
    excerpt: str
    relevance: float
    section: str


def search_documents(ctx: ToolContext, arguments: Arguments) -> ToolAnswer:
    """The passages that a question is about."""
    search_result = search_capabilities(
        ctx, arguments["query"], arguments["limit"], _indexed_text_kinds(ctx)
    )
    query_words = ctx.index.documents.words(arguments["query"])
    return {
        "results": [
            _passage_row(ctx, hit, header, query_words) for hit, header in search_result.pairs
        ]
    }


def _indexed_text_kinds(ctx: ToolContext) -> tuple[str, ...]:
    """The kinds of text that the index holds; where it holds none, one kind, for which the search
    raises UsageError.
    """
    indexed_kinds = tuple(kind for kind in TEXT_KINDS if kind in ctx.index.overview["kinds"])
    return indexed_kinds or TEXT_KINDS[:1]


def _passage_row(
    ctx: ToolContext, hit: Hit, header: CapabilityHeader, query_words: list[str]
) -> PassageRow:
    descriptor = ctx.index.full_descriptor(header)
    document, section = descriptor.name, ""
    if descriptor.kind == "section":
        metadata = capability_metadata(descriptor)
        document = name_without_kind(text_value(metadata, "document")) or descriptor.category
        section = text_value(metadata, "title") or descriptor.title
    return {
        "id": descriptor.id,
        "document": document,
        "excerpt": excerpt(descriptor.content or descriptor.description, query_words),
        "relevance": round(hit.relevance, 2),
        "section": section,
    }
