"""Token counts of rendered pieces, made once when a capability is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from capdisc_indexer.frozen import frozen
from capdisc_indexer.needs import named
from capdisc_indexer.render import FORMATS
from capdisc_indexer.render.content import detail_text, guidance_id, guidance_text
from capdisc_indexer.render.format import CLIPPED, MORE_CATEGORIES, SHORTENED, Format
from capdisc_indexer.render.hints import HINTS, hinted
from capdisc_indexer.render.lines import missing_note, shorter_lines, summary_line
from capdisc_indexer.text import one_line
from capdisc_indexer.tokens import TokenCounter, chunks
from capdisc_indexer.types import Descriptor

# The formats whose pieces are counted ahead; the others escape their content and are counted when printed.
COUNTED = ("text", "markdown")
# Of so many secrets and programs, every choice that may be missing is counted ahead.
_COUNTED_NEEDS = 3


def stored_counts(descriptor: Descriptor, counter: TokenCounter) -> dict[str, Any]:
    """What the index keeps: counts of each counted format's pieces, and of the detail's chunks that they share."""
    text = detail_text(descriptor)
    lines = _lines(descriptor)
    pieces = {name: _pieces(FORMATS[name], descriptor, text, lines) for name in COUNTED}
    # Most pieces are the same in each format.
    count = {piece: counter.exact(piece) for piece in dict.fromkeys(chain.from_iterable(pieces.values()))}
    return {
        "pieces": {name: [count[piece] for piece in each] for name, each in pieces.items()},
        "detail": counter.of_lines(chunks(text)),
        "characters": len(text),
        "listing": counter.exact(listing_line(descriptor)),
    }


def size_of(stored: Mapping[str, Any]) -> list[int]:
    """Tokens and characters of the capability in full, and tokens of its line in a listing."""
    return [sum(stored["detail"]), stored["characters"], stored["listing"]]


def listing_line(descriptor: Descriptor) -> str:
    """What clients that load bodies on demand put into every prompt of a capability."""
    return f"{descriptor.name}: {descriptor.description}\n"


def guidance_counts(counter: TokenCounter, texts: Mapping[str, str]) -> dict[str, int]:
    """Counts of the pieces of what is to be known of each category."""
    made: list[str] = []
    for category, given in texts.items():
        text, label = guidance_text(given), one_line(guidance_id(category), 100)
        frames = [(FORMATS[name].frame_open(label, text), FORMATS[name].frame_close(label, text)) for name in COUNTED]
        made += [*chunks(text), *(each for pair in frames for each in pair)]
    return {text: counter.exact(text) for text in made}


def learn_guidance(counter: TokenCounter, form: Format, counts: Mapping[str, int], texts: Mapping[str, str]) -> None:
    """Give the counter what the index kept about these categories. The marks of its frames are other ones here, with
    the same count."""
    counter.learn(counts)
    if form.name not in COUNTED:
        return
    stored_form = FORMATS[form.name]
    for category, given in texts.items():
        text, label = guidance_text(given), one_line(guidance_id(category), 100)
        for name in ("frame_open", "frame_close"):
            stored = getattr(stored_form, name)(label, text)
            if stored in counts:
                counter.learn({getattr(form, name)(label, text): counts[stored]})


def learn(
    counter: TokenCounter, form: Format, descriptor: Descriptor, stored: Mapping[str, Any], with_detail: bool = True
) -> None:
    """Give the counter what the index kept about this capability, for this format; where only its lines are wanted,
    nothing of its text in full."""
    if form.name not in COUNTED or not stored:
        return
    text = detail_text(descriptor)
    pieces = _pieces(form, descriptor, text, _lines(descriptor))
    counter.learn(dict(zip(pieces, stored["pieces"][form.name], strict=True)))
    if with_detail:
        counter.learn(dict(zip(chunks(text), stored["detail"], strict=True)))


@frozen
class _Lines:
    """What a capability's pieces are made of in every format."""

    summaries: list[str]
    notes: list[str]


def _lines(descriptor: Descriptor) -> _Lines:
    notes = [missing_note(names) for names in _needs(descriptor)]
    summaries = [summary_line(descriptor), *shorter_lines(descriptor)]
    return _Lines([*summaries, *(summary_line(descriptor, note) for note in notes)], notes)


def _pieces(form: Format, descriptor: Descriptor, text: str, lines: _Lines) -> list[str]:
    label = one_line(descriptor.id, 100)
    return [
        *(form.summary(descriptor, line) for line in lines.summaries),
        *(form.chunk(f"{note}\n") for note in lines.notes),
        form.frame_open(label, text),
        form.frame_close(label, text),
        form.chunk(CLIPPED.format(id=descriptor.id)),
    ]


def _needs(descriptor: Descriptor) -> Iterator[Sequence[str]]:
    """Every choice of what may be missing, where there is little."""
    names = needed(descriptor)
    if len(names) <= _COUNTED_NEEDS:
        for size in range(1, len(names) + 1):
            yield from combinations(names, size)


def needed(descriptor: Descriptor) -> list[str]:
    """The secrets, programs and systems that the capability cannot be used without, each once."""
    return list(dict.fromkeys((*descriptor.secrets, *descriptor.bins, *named(descriptor.systems))))


def frame_counts(counter: TokenCounter, category_lines: Iterable[str]) -> dict[str, int]:
    """Counts of everything that does not belong to one capability: headings, endings, overview lines, remainders."""
    texts: list[str] = [SHORTENED]
    lines = [*category_lines, *(MORE_CATEGORIES.format(count=number) for number in range(1, 200))]
    for form in (FORMATS[name] for name in COUNTED):
        hints = [hinted(form, name).endings[0] for name in HINTS]
        texts += [form.opening, form.closing, *form.headings, *form.endings, *hints, *map(form.category, lines)]
    return {text: counter.exact(text) for text in texts}
