"""Documents as the index holds them: whole, or as sections in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.markdown.prose import prose
from capdisc_indexer.text import one_line, plain
from capdisc_indexer.tools.finding import of_kinds
from capdisc_indexer.tools.held import held, number, text, texts
from capdisc_indexer.tools.lookup import is_part, tail
from capdisc_indexer.tools.values import Desk
from capdisc_indexer.types import Descriptor

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")


@frozen(kw_only=True)
class Section:
    """One part of a document: its title with those above it, its rank (1 is the highest) and its number from 1."""

    title: str
    level: int
    chunk: int
    path: tuple[str, ...]
    text: str
    id: str = ""


def sections(desk: Desk, document: Descriptor) -> list[Section]:
    """The parts of a document in order: those that the index holds by themselves, else its headings."""
    found = [_section(descriptor) for descriptor in _held(desk, document)]
    return sorted(found, key=lambda each: each.chunk) or list(_by_headings(plain(document.content)))


def _held(desk: Desk, document: Descriptor) -> Iterator[Descriptor]:
    home = tail(document.id).lower()
    for head in of_kinds(desk, "section"):
        owner = tail(str(head["id"])).lower()
        if owner.startswith(f"{home}.") or head["source"]["format"] in ("capability", "catalogue"):
            descriptor = desk.index.whole(head)
            said = text(held(descriptor), "document")
            if said in (document.id, document.name) or (not said and is_part(descriptor, document.name)):
                yield descriptor


def _section(descriptor: Descriptor) -> Section:
    facts = held(descriptor)
    return Section(
        title=text(facts, "title") or descriptor.title,
        level=number(facts, "level") or 1,
        chunk=number(facts, "chunk") or 1,
        path=tuple(texts(facts, "path")) if isinstance(facts.get("path"), (list, tuple)) else (),
        text=plain(descriptor.content or descriptor.description),
        id=descriptor.id,
    )


def _by_headings(content: str) -> Iterator[Section]:
    lines = content.split("\n")
    found = [(number, match) for number, line in prose(content) if (match := _HEADING.fullmatch(line))]
    above: list[tuple[int, str]] = []
    for place, (start, match) in enumerate(found):
        level, title = len(match[1]), one_line(match[2])
        above = [each for each in above if each[0] < level]
        end = found[place + 1][0] if place + 1 < len(found) else len(lines) + 1
        own = "\n".join(lines[start - 1 : end - 1]).strip("\n")
        path = tuple(each for _, each in above)
        yield Section(title=title, level=level, chunk=place + 1, path=path, text=own)
        above.append((level, title))


def whole_text(document: Descriptor, parts: Sequence[Section]) -> str:
    """The text of a document; of one that is kept in parts, all of them."""
    return plain(document.content) or "\n\n".join(part.text for part in parts)


def under(parts: Sequence[Section], wanted: str) -> list[Section]:
    """The first section whose title has the words, with all that is below it. Raises UsageError naming the titles."""
    words = wanted.lower().lstrip("# ").strip()
    exact = [place for place, part in enumerate(parts) if part.title.lower() == words]
    held_in = [place for place, part in enumerate(parts) if words in part.title.lower()]
    if not exact + held_in:
        titles = ", ".join(dict.fromkeys(one_line(part.title, 60) for part in parts[:20]))
        raise UsageError(f"there is no section {one_line(wanted, 80)!r}", f"it has: {titles or 'no headings'}")
    first = (exact + held_in)[0]
    rest = parts[first + 1 :]
    end = next((place for place, part in enumerate(rest) if not _continues(parts[first], part)), len(rest))
    return [parts[first], *rest[:end]]


def _continues(first: Section, part: Section) -> bool:
    """Whether the part is below the first; a long section is several of one title, one after the other."""
    return part.level > first.level or (part.title, part.path) == (first.title, first.path)


def outline(parts: Sequence[Section]) -> list[dict[str, Any]]:
    """The headings with their numbers."""
    return [{"title": part.title, "level": part.level, "chunk": part.chunk} for part in parts]


def excerpt(content: str, words: Sequence[str], limit: int = 300) -> str:
    """The part of the text in which most of the words stand, on one line."""
    line = one_line(content)
    if len(line) <= limit:
        return line
    lower, forms = line.lower(), [word.lower() for word in words if len(word) > 2]
    starts = [match for word in forms if (match := lower.find(word)) >= 0]
    best = max(starts, default=0, key=lambda start: (_held_words(lower[start : start + limit], forms), -start))
    start = max(0, lower.rfind(" ", 0, max(best - limit // 4, 0)) + 1)
    return ("…" if start else "") + one_line(line[start:], limit)


def _held_words(window: str, words: Sequence[str]) -> int:
    return sum(word in window for word in words)


def document_of(section: Descriptor) -> str:
    """The name of the document that a section is of."""
    owner = text(held(section), "document")
    return (tail(owner) if ":" in owner else owner) or section.category
