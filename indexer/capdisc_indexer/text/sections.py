"""Which sections a Markdown text has, where each begins and ends, and which one a name means.

Sections contain one another: that of a heading reaches until the next heading of the same or a
higher level. Headings are lines with `#` outside fenced code, as in `text.markdown`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.markdown import prose_lines

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
# A row of # behind a heading is decoration; the one of "C#" is not.
_CLOSING_SIGNS = re.compile(r"(?:^|[ \t]+)#+[ \t\r]*$")
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


@frozen
class Section:
    """A section of a text from its heading to its end, with all sections below it.

    `heading` is as written, without its signs, and "" for the text before the first heading, whose
    `level` is 0; else `level` is 1 (the highest) to 6. The section is `text[start:end]`.
    """

    heading: str
    level: int
    start: int
    end: int


def split_sections(text: str) -> tuple[Section, ...]:
    """All sections in the order of their headings; those below a heading follow it, although it
    contains them. The text before the first heading is a section where it is not blank.

    >>> for section in split_sections("Hi.\\n# One\\n## Two\\n# Three\\n"):
    ...     print(section.level, section.heading, section.start, section.end)
    0  0 4
    1 One 4 17
    2 Two 10 17
    1 Three 17 25
    """
    starts = (0, *accumulate(len(line) + 1 for line in text.split("\n")))
    headings = [
        (_plain_heading(match[2] or ""), len(match[1]), starts[number - 1])
        for number, line in prose_lines(text)
        if (match := _HEADING.fullmatch(line))
    ]
    first = headings[0][2] if headings else len(text)
    lead = (Section("", 0, 0, first),) if text[:first].strip() else ()
    ends = _section_ends([(level, start) for _, level, start in headings], len(text))
    return lead + tuple(
        Section(heading, level, start, end)
        for (heading, level, start), end in zip(headings, ends, strict=True)
    )


def _plain_heading(written: str) -> str:
    return _CLOSING_SIGNS.sub("", written).strip()


def _section_ends(headings: Sequence[tuple[int, int]], text_end: int) -> list[int]:
    """Where the sections of these levels and starts end."""
    ends = [text_end] * len(headings)
    open_sections: list[int] = []  # positions of the sections that reach until here
    for position, (level, start) in enumerate(headings):
        while open_sections and headings[open_sections[-1]][0] >= level:
            ends[open_sections.pop()] = start
        open_sections.append(position)
    return ends


def section_slugs(sections: Sequence[Section]) -> tuple[str, ...]:
    """The anchor of each section as GitHub writes it; of several with one heading, the later ones
    get -1, -2, …

    >>> section_slugs(split_sections("# Set up!\\n# Set up"))
    ('set-up', 'set-up-1')
    """
    counts: dict[str, int] = {}
    slugs = []
    for section in sections:
        slug = _slug(section.heading)
        repetition = counts[slug] = counts.get(slug, -1) + 1
        slugs.append(f"{slug}-{repetition}" if repetition else slug)
    return tuple(slugs)


def _slug(heading: str) -> str:
    return _NOT_IN_SLUG.sub("", heading.strip().lower()).replace(" ", "-")


def find_section(text: str, name: str) -> Section | None:
    """The section that the name means: by its heading without regard to case, by its anchor, or by
    the beginning of these that no other heading has; None where it means none or several.

    Of several sections with the very same heading, the first.

    >>> text = "# One\\n\\n## Second Part\\n\\nHere.\\n\\n# Three\\n"
    >>> section = find_section(text, "second-part")
    >>> text[section.start : section.end]
    '## Second Part\\n\\nHere.\\n\\n'
    """
    sections = [section for section in split_sections(text) if section.level]
    wanted_heading = _plain_heading(name.strip().lstrip("#")).lower()
    wanted_slug = _slug(wanted_heading)
    for section in sections:
        if wanted_heading and section.heading.lower() == wanted_heading:
            return section
    slugs = section_slugs(sections)
    if not wanted_slug.strip("-"):
        return None
    if wanted_slug in slugs:
        return sections[slugs.index(wanted_slug)]
    beginnings = [
        section
        for section, slug in zip(sections, slugs, strict=True)
        if slug.startswith(wanted_slug)
    ]
    headings = {section.heading.lower() for section in beginnings}
    return beginnings[0] if len(headings) == 1 else None
