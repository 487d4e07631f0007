"""Documents as the index holds them: whole, or as sections in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.normalization import one_line, strip_controls
from capdisc_indexer.tools.capability_search import (
    capability_metadata,
    headers_of_kinds,
    int_value,
    text_list,
    text_value,
)
from capdisc_indexer.tools.name_lookup import is_part_of, local_name
from capdisc_indexer.tools.tool_types import ToolContext

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")


@frozen(kw_only=True)
class StoredSection:
    """One part of a document: its title with those above it, its rank (1 is the highest) and its
    number from 1.
    """

    title: str
    level: int
    chunk: int
    path: tuple[str, ...]
    text: str
    id: str = ""


def list_sections(ctx: ToolContext, document: Descriptor) -> list[StoredSection]:
    """The parts of a document in order: those that the index holds by themselves, else its
    headings.
    """
    stored_sections = [_parse_section(descriptor) for descriptor in _stored_sections(ctx, document)]
    return sorted(stored_sections, key=lambda section: section.chunk) or list(
        _split_by_headings(strip_controls(document.content))
    )


def _stored_sections(ctx: ToolContext, document: Descriptor) -> Iterator[Descriptor]:
    home = local_name(document.id).lower()
    for header in headers_of_kinds(ctx, "section"):
        owner = local_name(str(header["id"])).lower()
        if owner.startswith(f"{home}.") or header["source"]["format"] in (
            "capability",
            "catalogue",
        ):
            descriptor = ctx.index.full_descriptor(header)
            declared_document = text_value(capability_metadata(descriptor), "document")
            if declared_document in (document.id, document.name) or (
                not declared_document and is_part_of(descriptor, document.name)
            ):
                yield descriptor


def _parse_section(descriptor: Descriptor) -> StoredSection:
    facts = capability_metadata(descriptor)
    return StoredSection(
        title=text_value(facts, "title") or descriptor.title,
        level=int_value(facts, "level") or 1,
        chunk=int_value(facts, "chunk") or 1,
        path=tuple(text_list(facts, "path"))
        if isinstance(facts.get("path"), (list, tuple))
        else (),
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


def document_text(document: Descriptor, parts: Sequence[StoredSection]) -> str:
    """The text of a document; of one that is kept in parts, all of them."""
    return strip_controls(document.content) or "\n\n".join(part.text for part in parts)


def section_with_children(parts: Sequence[StoredSection], heading: str) -> list[StoredSection]:
    """The first section whose title has the words, with all that is below it. Raises UsageError
    naming the titles.
    """
    words = heading.lower().lstrip("# ").strip()
    exact = [position for position, part in enumerate(parts) if part.title.lower() == words]
    held_in = [position for position, part in enumerate(parts) if words in part.title.lower()]
    if not exact + held_in:
        titles = ", ".join(dict.fromkeys(one_line(part.title, 60) for part in parts[:20]))
        raise UsageError(
            f"there is no section {one_line(heading, 80)!r}", f"it has: {titles or 'no headings'}"
        )
    first = (exact + held_in)[0]
    following = parts[first + 1 :]
    end = next(
        (position for position, part in enumerate(following) if not _is_below(parts[first], part)),
        len(following),
    )
    return [parts[first], *following[:end]]


def _is_below(first: StoredSection, part: StoredSection) -> bool:
    """Whether the part is below the first; a long section is several of one title, one after the
    other.
    """
    return part.level > first.level or (part.title, part.path) == (first.title, first.path)


def outline(parts: Sequence[StoredSection]) -> list[dict[str, Any]]:
    """The headings with their numbers."""
    return [{"title": part.title, "level": part.level, "chunk": part.chunk} for part in parts]


def excerpt(content: str, words: Sequence[str], limit: int = 300) -> str:
    """The part of the text in which most of the words stand, on one line."""
    line = one_line(content)
    if len(line) <= limit:
        return line
    lower, forms = line.lower(), [word.lower() for word in words if len(word) > 2]
    starts = [match for word in forms if (match := lower.find(word)) >= 0]
    best = max(
        starts,
        default=0,
        key=lambda start: (_count_words(lower[start : start + limit], forms), -start),
    )
    start = max(0, lower.rfind(" ", 0, max(best - limit // 4, 0)) + 1)
    return ("…" if start else "") + one_line(line[start:], limit)


def _count_words(window: str, words: Sequence[str]) -> int:
    return sum(word in window for word in words)


def document_name(section: Descriptor) -> str:
    """The name of the document that a section is of."""
    owner = text_value(capability_metadata(section), "document")
    return (local_name(owner) if ":" in owner else owner) or section.category
