"""Which sections a document has, and the passage of a text in which the most words stand.

The index holds a document whole, with its sections as capabilities of their own where its loader
made such; else its Markdown headings make them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypedDict

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_search import headers_of_kinds
from capdisc_indexer.tools.metadata_values import (
    capability_metadata,
    int_value,
    sequence_value,
    text_list,
    text_value,
)
from capdisc_indexer.tools.name_lookup import is_part_of, local_name, name_without_kind
from capdisc_indexer.tools.tool_types import ToolContext

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")


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


def list_sections(ctx: ToolContext, document: Descriptor) -> list[StoredSection]:
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
    prefix = f"{local_name(document.id).lower()}."
    for header in headers_of_kinds(ctx, "section"):
        # The id of a loader's section begins with its document; one that an author gave says
        # nothing.
        is_authored = header["source"]["format"] in ("capability", "catalogue")
        if is_authored or local_name(header["id"]).lower().startswith(prefix):
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
    lines = content.split("\n")
    headings = [
        (number, match)
        for number, line in prose_lines(content)
        if (match := _HEADING.fullmatch(line))
    ]
    above: list[tuple[int, str]] = []
    for position, (start, match) in enumerate(headings):
        level, title = len(match[1]), one_line(match[2])
        above = [ancestor for ancestor in above if ancestor[0] < level]
        end = headings[position + 1][0] if position + 1 < len(headings) else len(lines) + 1
        section_text = "\n".join(lines[start - 1 : end - 1]).strip("\n")
        path = tuple(ancestor_title for _, ancestor_title in above)
        yield StoredSection(
            title=title, level=level, chunk=position + 1, path=path, text=section_text
        )
        above.append((level, title))


def document_text(document: Descriptor, sections: Sequence[StoredSection]) -> str:
    """The text of a document; where the index holds it in sections alone, theirs."""
    return strip_controls(document.content) or "\n\n".join(section.text for section in sections)


def section_with_children(sections: Sequence[StoredSection], heading: str) -> list[StoredSection]:
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


class OutlineRow(TypedDict):
    """A heading of a document; `chunk` is the number that get_page_by_number takes."""

    title: str
    level: int
    chunk: int


def outline(sections: Sequence[StoredSection]) -> list[OutlineRow]:
    """The headings of the sections."""
    return [
        {"title": section.title, "level": section.level, "chunk": section.chunk}
        for section in sections
    ]


def document_name(section: Descriptor) -> str:
    """The name of the document that the section belongs to."""
    declared_document = text_value(capability_metadata(section), "document")
    return name_without_kind(declared_document) or section.category


def excerpt(content: str, words: Sequence[str], limit: int = 300) -> str:
    """The part of the text in which the most of the words stand, on one line of at most `limit`
    characters.
    """
    line = one_line(content)
    if len(line) <= limit:
        return line
    lower_line, lower_words = line.lower(), [word.lower() for word in words if len(word) > 2]
    starts = [position for word in lower_words if (position := lower_line.find(word)) >= 0]
    best = max(
        starts,
        default=0,
        key=lambda start: (_count_words(lower_line[start : start + limit], lower_words), -start),
    )
    start = max(0, lower_line.rfind(" ", 0, max(best - limit // 4, 0)) + 1)
    return ("…" if start else "") + one_line(line[start:], limit)


def _count_words(window: str, words: Sequence[str]) -> int:
    return sum(word in window for word in words)
