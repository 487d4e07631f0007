"""How many tokens the pieces of a capability have, counted once when it is indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, combinations, islice
from pathlib import PurePath
from typing import Any, TypeAlias, TypedDict

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CategoryRecord
from capdisc_indexer.model.records import any_of_systems
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import (
    availability_note,
    detail_text,
    guidance_id,
    guidance_text,
    later_lines,
    may_have_later_line,
    pointer_line,
    shorter_lines,
    shortest_line,
    summary_line,
)
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.formats.text import TEXT
from capdisc_indexer.rendering.render_format import (
    CLIPPED_MARK,
    LEFT_OUT_MARK,
    MORE_CATEGORIES,
    OVERVIEW_HINTS,
    SHORTENED_MARK,
    RenderFormat,
    with_hint,
)
from capdisc_indexer.text.location import Location, locate, location_rule
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import TokenCounter, split_chunks

# The pieces of these formats are counted when a capability is indexed; those of the others, when
# they are printed.
_COUNTED_FORMATS = tuple(form for form in FORMATS.values() if form.is_counted_ahead)
# Formats that are counted when they are printed, and whose pieces add up. An overview has the
# tokens of the lines that it leaves out, too, so the index stores the count of the shortest line
# of each category.
_COUNTED_LATE_FORMATS = tuple(
    form for form in FORMATS.values() if form.additive and not form.is_counted_ahead
)
# Up to this many secrets and programs, the note for every combination of missing ones is counted.
_MAX_COUNTED_NEEDS = 3


class PieceCounts(TypedDict):
    """Token counts of one capability, as the index stores them: its pieces in the order of
    `_render_pieces` and `_later_pieces` by format, the chunks of its text in full, which all
    formats share, its line in a listing, and by text the lines that say where its file lies; also
    the characters of the text in full.
    """

    pieces: dict[str, list[int]]
    detail: list[int]
    characters: int
    listing: int
    locations: dict[str, int]


# The same as it was read from an index.
StoredCounts: TypeAlias = Mapping[str, Any]
# A capability and its stored counts.
CountedDescriptor: TypeAlias = tuple[Descriptor, StoredCounts]


def count_pieces(
    descriptors: Sequence[Descriptor], counter: TokenCounter, workspace: PurePath | None = None
) -> list[PieceCounts]:
    """The counts that the index stores of each capability; its location is counted as it is
    printed in this workspace and elsewhere.
    """
    all_texts = [_collect_texts(descriptor, workspace) for descriptor in descriptors]
    counts = iter(
        counter.count_many([text for texts in all_texts for text in (*texts.once, *texts.chunks)])
    )
    return [_make_counts(texts, counts) for texts in all_texts]


@frozen(kw_only=True)
class _CountedTexts:
    """What is counted of one capability: the pieces by format, its line in a listing, and the
    lines of its location; the chunks of its text in full.
    """

    pieces: dict[str, list[str]]
    listing: str
    locations: list[str]
    chunks: list[str]
    characters: int

    @property
    def once(self) -> dict[str, None]:
        """All but the chunks, each once: most pieces are the same in each format."""
        pieces = chain.from_iterable(self.pieces.values())
        return dict.fromkeys([*pieces, self.listing, *self.locations])


def _collect_texts(descriptor: Descriptor, workspace: PurePath | None) -> _CountedTexts:
    text = detail_text(descriptor)
    lines = _summary_lines(descriptor)
    return _CountedTexts(
        pieces={
            form.name: [
                *_render_pieces(form, descriptor, text, lines),
                *_later_pieces(form, descriptor, lines),
            ]
            for form in _COUNTED_FORMATS
        },
        listing=listing_line(descriptor),
        locations=[
            line
            for base in dict.fromkeys((workspace, None))
            for line in _location_pieces(descriptor, locate(descriptor, base))
        ],
        chunks=split_chunks(text),
        characters=len(text),
    )


def _make_counts(texts: _CountedTexts, counts: Iterator[int]) -> PieceCounts:
    """The counts of a capability's texts, which are the next ones."""
    count = dict(zip(texts.once, counts, strict=False))
    return {
        "pieces": {
            name: [count[piece] for piece in pieces] for name, pieces in texts.pieces.items()
        },
        "detail": list(islice(counts, len(texts.chunks))),
        "characters": texts.characters,
        "listing": count[texts.listing],
        "locations": {line: count[line] for line in texts.locations},
    }


def location_lines(location: Location) -> list[str]:
    """The lines that say where a capability lies, above its text in full."""
    folder = [f"Folder: {location.folder}\n"] if location.folder else []
    return [f"File: {location.path}\n", *folder]


def _location_pieces(descriptor: Descriptor, location: Location) -> list[str]:
    places = (location.path, location_rule(descriptor.id, descriptor.kind, location.path))
    return [*map(TEXT.location, places), *location_lines(location)]


def full_size(counts: StoredCounts) -> list[int]:
    """Tokens and characters of the capability in full, and the tokens of its line in a listing."""
    return [sum(counts["detail"]), counts["characters"], counts["listing"]]


def listing_line(descriptor: Descriptor) -> str:
    """The line that clients which load texts on demand put into every prompt."""
    return f"{descriptor.name}: {descriptor.description}\n"


def guidance_counts(counter: TokenCounter, texts: Mapping[str, str]) -> dict[str, int]:
    """Token counts of the pieces of each category's guidance, by piece."""
    pieces: list[str] = []
    for category, guidance in texts.items():
        text, label = guidance_text(guidance), one_line(guidance_id(category), 100)
        pieces += split_chunks(text)
        for form in _COUNTED_FORMATS:
            pieces += [form.frame_open(label, text), form.frame_close(label, text)]
    return {text: counter.exact(text) for text in pieces}


def learn_guidance(
    counter: TokenCounter, form: RenderFormat, counts: Mapping[str, int], texts: Mapping[str, str]
) -> None:
    """Give the counter the stored counts of these categories' guidance. The marks of frames differ
    from those that were counted, and count alike.
    """
    counter.learn(counts)
    if not form.counted_as:
        return
    stored_form = FORMATS[form.counted_as]
    for category, guidance in texts.items():
        text, label = guidance_text(guidance), one_line(guidance_id(category), 100)
        for name in ("frame_open", "frame_close"):
            stored = getattr(stored_form, name)(label, text)
            if stored in counts:
                counter.learn({getattr(form, name)(label, text): counts[stored]})


def learn_counts(
    counter: TokenCounter,
    form: RenderFormat,
    descriptor: Descriptor,
    counts: StoredCounts,
    with_detail: bool = True,
    words: Set[str] = frozenset(),
) -> None:
    """Give the counter the stored counts of this capability in this format; without `with_detail`
    those of its lines alone. `words` are those of the request, which may choose a later sentence.
    """
    if not counts or form.is_catalogue:
        return
    counter.learn(counts["locations"])
    text = detail_text(descriptor) if with_detail else ""
    if stored := counts["pieces"].get(form.counted_as):
        lines = _summary_lines(descriptor)
        pieces = (
            _render_pieces(form, descriptor, text, lines)
            if with_detail
            else _line_pieces(form, descriptor, lines)
        )
        counter.learn(dict(zip(pieces, stored, strict=False)))
        if may_have_later_line(descriptor.description, words):
            later = _later_pieces(form, descriptor, lines)
            counter.learn(dict(zip(later, stored[len(stored) - len(later) :], strict=True)))
    if with_detail:
        counter.learn(dict(zip(split_chunks(text), counts["detail"], strict=True)))


@frozen
class _SummaryLines:
    """What the pieces of a capability are made of in every format."""

    summaries: list[str]
    notes: list[str]


def _summary_lines(descriptor: Descriptor) -> _SummaryLines:
    choices = list(_missing_choices(descriptor))
    if not descriptor.available:
        choices.append(())
    notes = [availability_note(names, descriptor.available) for names in choices]
    summaries = [
        summary_line(descriptor),
        *shorter_lines(descriptor),
        shortest_line(descriptor),
        pointer_line(descriptor),
    ]
    for note in notes:
        summaries += [summary_line(descriptor, note), pointer_line(descriptor, note)]
        summaries += shorter_lines(descriptor, note)
    return _SummaryLines(summaries, notes)


def _render_pieces(
    form: RenderFormat, descriptor: Descriptor, text: str, lines: _SummaryLines
) -> list[str]:
    label = one_line(descriptor.id, 100)
    return [
        *_line_pieces(form, descriptor, lines),
        form.frame_open(label, text),
        form.frame_close(label, text),
        form.chunk(CLIPPED_MARK.format(id=descriptor.id)),
    ]


def _later_pieces(form: RenderFormat, descriptor: Descriptor, lines: _SummaryLines) -> list[str]:
    """The lines of later sentences, whose counts stand behind all others."""
    return [
        form.summary(descriptor, line, "")
        for note in ("", *lines.notes)
        for line in later_lines(descriptor, note)
    ]


def _line_pieces(form: RenderFormat, descriptor: Descriptor, lines: _SummaryLines) -> list[str]:
    return [
        *(form.summary(descriptor, line, "") for line in lines.summaries),
        *(form.chunk(f"{note}\n") for note in lines.notes),
    ]


def _missing_choices(descriptor: Descriptor) -> Iterator[Sequence[str]]:
    """Every combination of what may be missing, for capabilities that need little."""
    names = prerequisite_names(descriptor)
    if len(names) <= _MAX_COUNTED_NEEDS:
        for size in range(1, len(names) + 1):
            yield from combinations(names, size)


def prerequisite_names(descriptor: Descriptor) -> list[str]:
    """The secrets, programs and systems that the capability cannot be used without, each once."""
    return list(
        dict.fromkeys((*descriptor.secrets, *descriptor.bins, *any_of_systems(descriptor.systems)))
    )


def frame_counts(
    count_tokens: Callable[[str], int], categories: Iterable[CategoryRecord]
) -> dict[str, int]:
    """Token counts of what does not belong to one capability, by text: headings, endings,
    overview lines, remainders. Of formats that are counted when they are printed, the shortest
    line of each category alone.
    """
    all_lines = [category["lines"] for category in categories]
    remainders = [MORE_CATEGORIES.format(count=number) for number in range(1, 200)]
    texts: list[str] = [SHORTENED_MARK, LEFT_OUT_MARK]
    for form in _COUNTED_FORMATS:
        hints = [with_hint(form, name).endings[0] for name in OVERVIEW_HINTS]
        texts += [
            form.opening,
            form.closing,
            *form.headings,
            *form.endings,
            *hints,
            *map(form.category, chain.from_iterable(all_lines)),
            *map(form.category, remainders),
        ]
    for form in _COUNTED_LATE_FORMATS:
        texts += [form.category(lines[-1]) for lines in all_lines]
    return {text: count_tokens(text) for text in texts}
