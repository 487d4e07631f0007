"""Fits the text of a capability into some tokens: whole, or without some of its sections.

An excerpt holds the fields and the headings of the text in their order, and in full those sections
that fit the request best. No section is cut: half a procedure is worse than none. A mark at the
end says how to read the rest.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.types import Block, Descriptor
from capdisc_indexer.rendering.capability_text import detail_text, fields_text
from capdisc_indexer.rendering.render_format import CLIPPED_MARK, LEFT_OUT_MARK
from capdisc_indexer.rendering.render_job import RenderJob
from capdisc_indexer.rendering.token_accounting import location_lines
from capdisc_indexer.rendering.truncation import MIN_DETAIL_TOKENS
from capdisc_indexer.store.text_queries import build_analyser
from capdisc_indexer.text.normalization import (
    bigrams,
    compile_late,
    one_line,
    simple_words,
    without_stop_words,
)
from capdisc_indexer.text.sections import find_section, split_sections
from capdisc_indexer.text.token_counts import split_chunks

# The headings of an excerpt may take so much of its tokens; of more, those of the lowest levels
# are left out.
_OUTLINE_SHARE = 1 / 3
_LOWEST_LEVEL = 6
# So many texts are cached in chunks for the next step of a fit: those of a whole catalogue would
# take too much memory.
_MAX_CACHED_TEXTS = 16
# A word of the request in a heading counts as much as this many in the text.
_HEADING_WEIGHT = 3
# `## Step 2: …`, `### 3. …`, `## Phase IV`
_STEP = compile_late(r" {0,3}#+[ \t]+(?:\W*\w+[ \t]+)?(?:\d+|[IVX]+)(?:[.:)\]—–-]|\s|$)")
_HEADING_SIGNS = compile_late(r"^ {0,3}#+[ \t]*")


@frozen(kw_only=True)
class Unit:
    """A heading with the text up to the next heading of any level, as places of chunks: the
    heading is at `start` (the text before the first heading has none, and level 0).
    """

    start: int
    end: int
    level: int
    text: str
    tokens: int
    heading_tokens: int


def frame_excerpt(job: RenderJob, d: Descriptor, tokens_left: int) -> tuple[Block | None, int]:
    """The capability in its frame, with all sections or some (None: not even its fields fit), and
    the tokens that it has in full.
    """
    count, form = job.counter.count, job.form
    framed = job.texts.get((d.id, d.guidance))
    if framed is None:
        framed = _frame_text(job, d)
        if len(job.texts) < _MAX_CACHED_TEXTS:
            job.texts[d.id, d.guidance] = framed
    chunks, full_tokens = framed.chunks, framed.frame_tokens + sum(framed.counts)
    if full_tokens <= tokens_left:
        return framed.block(d.id, map(form.chunk, chunks), full_tokens), full_tokens
    mark = form.chunk(CLIPPED_MARK.format(id=d.id))
    gap = form.chunk(LEFT_OUT_MARK)
    tokens_for_text = tokens_left - framed.frame_tokens - count(mark)
    if not framed.units:
        framed.units.extend(split_units(framed.text, len(fields_text(d)), chunks, framed.counts))
    outline = _choose_outline(framed.units, tokens_for_text, count(gap))
    if outline is None:
        return None, full_tokens
    section = next((hit.section for hit in job.ranking.hits if hit.id == d.id), "")
    first = _find_unit(framed, section) if section else None
    outline = _add_sections(outline, job.ranking.query.texts, tokens_for_text, first)
    used_tokens = framed.frame_tokens + count(mark) + outline.tokens
    if used_tokens < min(MIN_DETAIL_TOKENS, full_tokens):
        return None, full_tokens
    pieces = [gap if place is None else form.chunk(chunks[place]) for place in outline.places()]
    return framed.block(d.id, [*pieces, mark], used_tokens), full_tokens


@frozen(kw_only=True)
class _FramedText:
    """The text of a capability in chunks with their tokens, the pieces before and after it, and
    its units, where they were needed.
    """

    text: str
    chunks: Sequence[str]
    counts: Sequence[int]
    start: Sequence[str]
    end: Sequence[str]
    frame_tokens: int
    units: list[Unit] = field(default_factory=list)

    def block(self, identifier: str, pieces: Iterable[str], tokens: int) -> Block:
        """The block of these pieces in the frame."""
        text = "".join([*self.start, *pieces, *self.end])
        return Block(id=identifier, text=text, tokens=tokens)


def _frame_text(job: RenderJob, d: Descriptor) -> _FramedText:
    count, form = job.counter.count, job.form
    text, label, note = detail_text(d), one_line(d.id, 100), job.inputs.note(d)
    lead = [*([f"{note}\n"] if note else []), *location_lines(job.location(d))]
    start = [form.frame_open(label, text), *map(form.chunk, lead)]
    end = [form.frame_close(label, text)]
    chunks = split_chunks(text)
    return _FramedText(
        text=text,
        chunks=chunks,
        counts=[count(form.chunk(chunk)) for chunk in chunks],
        start=start,
        end=end,
        frame_tokens=sum(map(count, (*start, *end))),
    )


def split_units(
    text: str, fields: int, chunks: Sequence[str], counts: Sequence[int]
) -> list[Unit]:
    """The units of the text in order, which together hold all of its chunks. Its first `fields`
    characters belong to one, whatever looks like a heading there.
    """
    offsets = [0, *accumulate(map(len, chunks))]
    levels = {
        bisect_left(offsets, section.start): section.level
        for section in split_sections(text)
        if section.start >= fields
    }
    starts = sorted({0, *(place for place in levels if place < len(chunks))})
    return [
        Unit(
            start=start,
            end=end,
            level=levels.get(start, 0),
            text="".join(chunks[start:end]),
            tokens=sum(counts[start:end]),
            heading_tokens=counts[start] if levels.get(start) else 0,
        )
        for start, end in zip(starts, [*starts[1:], len(chunks)], strict=True)
    ]


@frozen(kw_only=True)
class Outline:
    """Which units are printed in full (`chosen`), and down to which level the headings of others.

    A gap of `gap_tokens` stands below each heading whose text is left out, and once where several
    units are left out with their headings.
    """

    units: Sequence[Unit]
    chosen: frozenset[int]
    depth: int
    gap_tokens: int

    @property
    def tokens(self) -> int:
        """The tokens of what is printed."""
        return sum(tokens + self.gap_tokens * has_gap for _, tokens, has_gap in self._parts())

    def places(self) -> Iterator[int | None]:
        """The places of the chunks that are printed, in order, with None for a gap."""
        for places, _, has_gap in self._parts():
            yield from places
            if has_gap:
                yield None

    def _parts(self) -> Iterator[tuple[range, int, bool]]:
        """What is printed of each unit: the places of its chunks, their tokens, and whether a gap
        follows.
        """
        follows_gap = False
        for number, unit in enumerate(self.units):
            has_heading = 0 < unit.level <= self.depth
            is_bare_heading = has_heading and unit.heading_tokens == unit.tokens
            is_full = number in self.chosen or is_bare_heading
            if is_full:
                yield range(unit.start, unit.end), unit.tokens, False
            elif has_heading:
                yield range(unit.start, unit.start + 1), unit.heading_tokens, True
            else:
                yield range(0), 0, not follows_gap
            follows_gap = not is_full


def _choose_outline(units: Sequence[Unit], tokens: int, gap_tokens: int) -> Outline | None:
    """The fields, and the headings down to the lowest level at which they are not too many; None
    where not even the fields fit.
    """
    fields = frozenset({0} if units[0].level == 0 else ())
    bare = Outline(units=units, chosen=fields, depth=0, gap_tokens=gap_tokens)
    if bare.tokens > tokens:
        return None
    max_tokens = bare.tokens + (tokens - bare.tokens) * _OUTLINE_SHARE
    outlines = (replace(bare, depth=depth) for depth in range(_LOWEST_LEVEL, 0, -1))
    return next((outline for outline in outlines if outline.tokens <= max_tokens), bare)


def _find_unit(framed: _FramedText, section: str) -> int | None:
    """The unit that begins with the section of this name, None where there is none."""
    span = find_section(framed.text, section)
    if span is None:
        return None
    place = bisect_left([0, *accumulate(map(len, framed.chunks))], span.start)
    return next((number for number, unit in enumerate(framed.units) if unit.start == place), None)


def _add_sections(
    outline: Outline, texts: Sequence[str], tokens: int, first: int | None
) -> Outline:
    """The outline with as many units in full as fit: the one that the search named (`first`), then
    those that fit the request best; a step of a procedure only with the steps before it.
    """
    units = outline.units
    scores = score_units(units, texts)
    if first is not None:
        scores[first] = math.inf
    for number in sorted(range(len(units)), key=lambda number: (-scores[number], number)):
        added = {*range(_first_step(units, number), number), number} - outline.chosen
        if added and sum(units[place].tokens for place in added) <= tokens:
            longer = replace(outline, chosen=outline.chosen | added)
            outline = longer if longer.tokens <= tokens else outline
    return outline


def _first_step(units: Sequence[Unit], number: int) -> int:
    """The first step of the procedure that the unit is a step of, or a part of one: the first
    numbered heading of its level without a higher one between; else the unit itself.
    """
    first, level = number, units[number].level
    is_step = bool(_STEP.match(units[number].text))
    for place in range(number - 1, -1, -1):
        unit = units[place]
        if unit.level < level:
            if is_step or not unit.level:
                break
            level, is_step = unit.level, bool(_STEP.match(unit.text))
            first = place if is_step else first
        elif unit.level == level and is_step and _STEP.match(unit.text):
            first = place
    return first if is_step else number


def score_units(units: Sequence[Unit], texts: Collection[str]) -> list[float]:
    """How well each unit fits the request, from 0: its share of the request's words, rare ones of
    this text before common ones, those in its heading before those in its text.
    """
    analyse = _analyser().analyze
    words = {
        term
        for text in texts
        for term in analyse(" ".join(without_stop_words(simple_words(bigrams(text)))))
    }
    counts = [_count_words(unit, words, analyse) for unit in units]
    rarity = {
        word: math.log(1 + len(units) / (1 + sum(word in unit_counts for unit_counts in counts)))
        for word in words
    }
    return [
        sum(rarity[word] * number / (number + 1) for word, number in unit_counts.items())
        for unit_counts in counts
    ]


@cache
def _analyser() -> Any:
    return build_analyser()


def _count_words(
    unit: Unit, words: Collection[str], analyse: Callable[[str], list[str]]
) -> Counter[str]:
    """How often the unit has each of the stemmed words."""
    counts: Counter[str] = Counter()
    heading, _, body = unit.text.partition("\n") if unit.level else ("", "", unit.text)
    for text, weight in ((_HEADING_SIGNS.sub("", heading), _HEADING_WEIGHT), (body, 1)):
        for word in analyse(bigrams(text)):
            if word in words:
                counts[word] += weight
    return counts
