"""Which sections a Markdown text has, where each begins and ends, which one a name means, and in
which passages the text is searched.

Sections contain one another: that of a heading reaches until the next heading of the same or a
higher level. Headings are lines with `#` outside fenced code, as in `text.markdown`.

A passage is a section, or small neighbouring sections together, or a part of a long section, of
about 100 to 400 tokens. It begins at a heading or, in a long section, at a paragraph: code and
tables stay with the paragraph before them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.markdown import next_fence, prose_lines
from capdisc_indexer.text.normalization import compile_late

# A heading, or a line that may begin or end fenced code. Its first character is searched for, so
# that other lines take hardly any time.
_MARKED_LINE = compile_late(
    r"\n {0,3}(?:(#{1,6})(?:[ \t]+([^\n]*))?(?=\n|\Z)|(```+|~~~+)([^\n]*))"
)
# A row of # behind a heading is decoration; the one of "C#" is not.
_CLOSING_SIGNS = compile_late(r"(?:^|[ \t]+)#+[ \t\r]*$")
_NOT_IN_SLUG = compile_late(r"[^\w\- ]")

# In characters, of which English has about four a token.
MIN_CHARACTERS, MAX_CHARACTERS = 400, 1_600
# A text that is a little longer stays whole: its end alone would say nothing.
_LONGEST = MAX_CHARACTERS + MIN_CHARACTERS
# How a table begins, and an indented line, which continues an item of a list.
_IS_ATTACHED = re.compile(r"[ \t]|\|").match
# A name may be a whole sentence; a heading is found by its beginning, too.
_MAX_NAME = 120
# The headings above a passage say what it is about; a deep outline says it at length.
_MAX_TRAIL = 3


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
    headings = list(_find_headings(text))
    first = headings[0][2] if headings else len(text)
    lead = (Section("", 0, 0, first),) if text[:first].strip() else ()
    ends = _section_ends([(level, start) for _, level, start in headings], len(text))
    return lead + tuple(
        Section(heading, level, start, end)
        for (heading, level, start), end in zip(headings, ends, strict=True)
    )


def _find_headings(text: str) -> Iterator[tuple[str, int, int]]:
    """Heading, level and start of each heading outside fenced code."""
    fence = ""
    for line in _MARKED_LINE.finditer(f"\n{text}"):
        if line[3]:
            fence = next_fence(fence, line[3], line[4])
        elif not fence:
            yield _plain_heading(line[2] or ""), len(line[1]), line.start()


def _plain_heading(written: str) -> str:
    return (_CLOSING_SIGNS.sub("", written) if "#" in written else written).strip()


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


# The passages of a text.


@frozen
class HeadedText:
    """The text from a heading to the next one of any level; `name` is what `find_section` takes,
    `trail` holds the headings above it.
    """

    name: str
    level: int
    trail: tuple[str, ...]
    start: int
    end: int


@frozen
class Passage:
    """A part of a body that is searched as one: `body[start:end]`.

    `sections` are the names of the sections that begin in it, or of the one that it continues;
    none where no heading is above. `trail` holds the headings above it, highest first.
    """

    sections: tuple[str, ...]
    trail: tuple[str, ...]
    start: int
    end: int


def split_passages(body: str) -> tuple[Passage, ...]:
    """The passages of a body in order, which together hold all of it; none of a blank one.

    >>> [passage.sections for passage in split_passages("Hi.\\n# One\\nHere.\\n")]
    [('One',)]
    """
    passages: list[Passage] = []
    group: list[HeadedText] = []
    for unit in split_units(body):
        if group and not _belongs_together(group, unit):
            passages.extend(_cut_group(body, group))
            group = []
        group.append(unit)
    return (*passages, *_cut_group(body, group))


def split_units(body: str) -> list[HeadedText]:
    """The units of a body in order, without blank text before the first heading."""
    sections = split_sections(body)
    names = _section_names(sections)
    ends = [*(section.start for section in sections), len(body)][1 : len(sections) + 1]
    units: list[HeadedText] = []
    above: list[tuple[int, str]] = []  # level and heading of the sections around
    for section, name, end in zip(sections, names, ends, strict=True):
        while above and above[-1][0] >= section.level:
            above.pop()
        trail = tuple(heading for _, heading in above[-_MAX_TRAIL:])
        units.append(HeadedText(name, section.level, trail, section.start, end))
        if section.level:
            above.append((section.level, section.heading))
    return units


def _section_names(sections: Sequence[Section]) -> list[str]:
    """The heading of each section, or its anchor where an earlier one has the same heading."""
    headings = [section.heading for section in sections]
    if len({heading.lower() for heading in headings}) == len(headings):
        return [heading[:_MAX_NAME] for heading in headings]
    seen: set[str] = set()
    names = []
    for section, slug in zip(sections, section_slugs(sections), strict=True):
        folded = section.heading.lower()
        names.append((slug if folded in seen else section.heading)[:_MAX_NAME])
        seen.add(folded)
    return names


def _belongs_together(group: Sequence[HeadedText], unit: HeadedText) -> bool:
    """Whether the unit is searched together with the small ones before it, none of which it may
    leave: a section of a higher level begins something new.
    """
    size = group[-1].end - group[0].start
    return (
        size < MIN_CHARACTERS
        and unit.level >= group[0].level
        and unit.end - group[0].start <= MAX_CHARACTERS
    )


def _cut_group(body: str, group: Sequence[HeadedText]) -> Iterator[Passage]:
    """The units as one passage, or a long one as several."""
    if not group:
        return
    sections = tuple(dict.fromkeys(unit.name for unit in group if unit.name))
    trail, start, end = group[0].trail, group[0].start, group[-1].end
    for cut in [*_find_cuts(body, start, end), end]:
        if body[start:cut].strip():
            yield Passage(sections, trail, start, cut)
            start = cut


def _find_cuts(body: str, start: int, end: int) -> Iterator[int]:
    """Where a text that is too long is cut: before the last paragraph that would make a passage
    too long; within code, tables and lists that are too long by themselves, at a line.
    """
    if end - start <= _LONGEST:
        return
    paragraphs = [*_paragraph_starts(body, start, end), end]
    while end - start > _LONGEST:
        most = start + MAX_CHARACTERS
        at = bisect_right(paragraphs, most) - 1
        cut = paragraphs[at] if at >= 0 else start
        if cut - start < MIN_CHARACTERS:
            line_end = body.find("\n", most, most + MAX_CHARACTERS)
            cut = min(paragraphs[at + 1], line_end + 1 or most)
        if end - cut < MIN_CHARACTERS:
            return
        yield cut
        start = cut


def _paragraph_starts(body: str, start: int, end: int) -> Iterator[int]:
    """Where a paragraph, not a table or code, begins after a blank line outside code."""
    text = body[start:end]
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=start))
    last_blank = 0
    for number, line in prose_lines(text):
        if not line.strip():
            last_blank = number
        elif last_blank == number - 1 and not _IS_ATTACHED(line):
            yield starts[number - 1]
