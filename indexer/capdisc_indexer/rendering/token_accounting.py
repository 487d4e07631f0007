"""Token counts of rendered pieces, made once when a capability is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.records import any_of_systems
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.rendering.capability_text import detail_text, guidance_id, guidance_text
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.formats.format import (
    CLIPPED_MARK,
    MORE_CATEGORIES,
    SHORTENED_MARK,
    RenderFormat,
)
from capdisc_indexer.rendering.layout import OVERVIEW_HINTS, with_hint
from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.text.token_counts import TokenCounter, split_chunks

# A capability on one line: in full, then shorter and shorter.

DESCRIPTION_CHARACTERS = 240
SHOWN_PARAMETERS = 3
# What a description keeps where the line is too long; after that, the id stands alone.
SHORTER_LENGTHS = (120, 50)
_ID_CHARACTERS = 100


def summary_line(descriptor: Descriptor, note: str = "", hint: bool = False) -> str:
    """The capability in one sentence or two: id, description, first parameters, what it requires;
    `note` comes last.

    No field can break the line, and none is longer than its share.
    """
    d = descriptor
    parts = [f"{_short_id(d)}: {_end_sentence(one_line(d.description, DESCRIPTION_CHARACTERS))}"]
    if d.parameters and d.kind != "table":  # whose description names its columns
        names = [one_line(p.name, 40) for p in d.parameters[:SHOWN_PARAMETERS]]
        parts.append(
            f"Params: {', '.join(names)}{', …' if len(d.parameters) > SHOWN_PARAMETERS else ''}."
        )
    if d.requires:
        parts.append(f"Requires: {', '.join(one_line(name, 60) for name in d.requires[:5])}.")
    if hint and d.usage_hint:
        parts.append(f"Hint: {_end_sentence(one_line(d.usage_hint, SHORTER_LENGTHS[0]))}")
    return _append_notes(" ".join(parts), d, note)


def shorter_lines(descriptor: Descriptor, note: str = "") -> list[str]:
    """The same with less and less of its description, at last the id alone. What warns stays as
    long as it can.
    """
    d = descriptor
    lines = [
        f"{_short_id(d)}: {_end_sentence(one_line(d.description, limit))}"
        for limit in SHORTER_LENGTHS
    ]
    return [*(_append_notes(line, d, note) for line in lines), _short_id(d)]


def shorter_descriptions(descriptor: Descriptor) -> Sequence[Descriptor]:
    """The capability with shorter descriptions, for a form that has no line."""
    return [
        replace(descriptor, description=one_line(descriptor.description, limit))
        for limit in SHORTER_LENGTHS
    ]


def name_line(descriptor: Descriptor) -> str:
    """The id alone."""
    return _short_id(descriptor)


def missing_note(names: Sequence[str]) -> str:
    """What is said of a capability that lacks secrets or programs here."""
    return f"[missing: {', '.join(one_line(name, 60) for name in names)}]" if names else ""


def _short_id(descriptor: Descriptor) -> str:
    return one_line(descriptor.id, _ID_CHARACTERS)


def _append_notes(line: str, d: Descriptor, note: str) -> str:
    return " ".join(part for part in (line, "Ask before use." if d.confirm else "", note) if part)


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."


# The pieces of these formats are counted when a capability is indexed; those of the others, when
# they are printed.
_COUNTED_FORMATS = tuple(form for form in FORMATS.values() if form.is_counted_ahead)
# Of so many secrets and programs, every choice that may be missing is counted ahead.
_MAX_COUNTED_NEEDS = 3


def count_pieces(descriptor: Descriptor, counter: TokenCounter) -> dict[str, Any]:
    """What the index keeps: counts of each counted format's pieces, and of the detail's chunks
    that they share.
    """
    text = detail_text(descriptor)
    lines = _summary_lines(descriptor)
    pieces = {form.name: _render_pieces(form, descriptor, text, lines) for form in _COUNTED_FORMATS}
    # Most pieces are the same in each format.
    count = {
        piece: counter.exact(piece) for piece in dict.fromkeys(chain.from_iterable(pieces.values()))
    }
    return {
        "pieces": {
            name: [count[piece] for piece in format_pieces]
            for name, format_pieces in pieces.items()
        },
        "detail": counter.count_lines(split_chunks(text)),
        "characters": len(text),
        "listing": counter.exact(listing_line(descriptor)),
    }


def full_size(counts: Mapping[str, Any]) -> list[int]:
    """Tokens and characters of the capability in full, and tokens of its line in a listing."""
    return [sum(counts["detail"]), counts["characters"], counts["listing"]]


def listing_line(descriptor: Descriptor) -> str:
    """What clients that load bodies on demand put into every prompt of a capability."""
    return f"{descriptor.name}: {descriptor.description}\n"


def guidance_counts(counter: TokenCounter, texts: Mapping[str, str]) -> dict[str, int]:
    """Counts of the pieces of what is to be known of each category."""
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
    """Give the counter what the index kept about these categories. The marks of its frames are
    other ones here, with the same count.
    """
    counter.learn(counts)
    if not form.is_counted_ahead:
        return
    stored_form = FORMATS[form.name]
    for category, given in texts.items():
        text, label = guidance_text(given), one_line(guidance_id(category), 100)
        for name in ("frame_open", "frame_close"):
            stored = getattr(stored_form, name)(label, text)
            if stored in counts:
                counter.learn({getattr(form, name)(label, text): counts[stored]})


def learn_counts(
    counter: TokenCounter,
    form: RenderFormat,
    descriptor: Descriptor,
    counts: Mapping[str, Any],
    with_detail: bool = True,
) -> None:
    """Give the counter what the index kept about this capability, for this format; where only its
    lines are wanted, nothing of its text in full.
    """
    if not form.is_counted_ahead or not counts:
        return
    text = detail_text(descriptor)
    pieces = _render_pieces(form, descriptor, text, _summary_lines(descriptor))
    counter.learn(dict(zip(pieces, counts["pieces"][form.name], strict=True)))
    if with_detail:
        counter.learn(dict(zip(split_chunks(text), counts["detail"], strict=True)))


@frozen
class _SummaryLines:
    """What a capability's pieces are made of in every format."""

    summaries: list[str]
    notes: list[str]


def _summary_lines(descriptor: Descriptor) -> _SummaryLines:
    notes = [missing_note(names) for names in _missing_choices(descriptor)]
    summaries = [summary_line(descriptor), *shorter_lines(descriptor)]
    return _SummaryLines([*summaries, *(summary_line(descriptor, note) for note in notes)], notes)


def _render_pieces(
    form: RenderFormat, descriptor: Descriptor, text: str, lines: _SummaryLines
) -> list[str]:
    label = one_line(descriptor.id, 100)
    return [
        *(form.summary(descriptor, line) for line in lines.summaries),
        *(form.chunk(f"{note}\n") for note in lines.notes),
        form.frame_open(label, text),
        form.frame_close(label, text),
        form.chunk(CLIPPED_MARK.format(id=descriptor.id)),
    ]


def _missing_choices(descriptor: Descriptor) -> Iterator[Sequence[str]]:
    """Every choice of what may be missing, where there is little."""
    names = prerequisite_names(descriptor)
    if len(names) <= _MAX_COUNTED_NEEDS:
        for size in range(1, len(names) + 1):
            yield from combinations(names, size)


def prerequisite_names(descriptor: Descriptor) -> list[str]:
    """The secrets, programs and systems that the capability cannot be used without, each once."""
    return list(
        dict.fromkeys((*descriptor.secrets, *descriptor.bins, *any_of_systems(descriptor.systems)))
    )


def frame_counts(counter: TokenCounter, category_lines: Iterable[str]) -> dict[str, int]:
    """Counts of everything that does not belong to one capability: headings, endings, overview
    lines, remainders.
    """
    texts: list[str] = [SHORTENED_MARK]
    lines = [*category_lines, *(MORE_CATEGORIES.format(count=number) for number in range(1, 200))]
    for form in _COUNTED_FORMATS:
        hints = [with_hint(form, name).endings[0] for name in OVERVIEW_HINTS]
        texts += [
            form.opening,
            form.closing,
            *form.headings,
            *form.endings,
            *hints,
            *map(form.category, lines),
        ]
    return {text: counter.exact(text) for text in texts}
