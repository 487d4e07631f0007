"""Token counts of rendered pieces, made once when a capability is indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from capdisc_indexer.render import FORMATS
from capdisc_indexer.render.content import detail_text
from capdisc_indexer.render.format import CLIPPED, MORE_CATEGORIES, Format
from capdisc_indexer.tokens import TokenCounter, chunks
from capdisc_indexer.types import Descriptor

# The formats whose pieces are counted ahead; the others escape their content and are counted when printed.
COUNTED = ("text", "markdown")


def stored_counts(descriptor: Descriptor, counter: TokenCounter) -> dict[str, Any]:
    """What the index keeps: counts of each counted format's pieces, and of the detail's chunks that they share."""
    pieces = {
        f"{name}.{index}": counter.exact(piece)
        for name in COUNTED
        for index, piece in enumerate(_pieces(FORMATS[name], descriptor))
    }
    return {"pieces": pieces, "detail": [counter.exact(chunk) for chunk in chunks(detail_text(descriptor))]}


def learn(counter: TokenCounter, form: Format, descriptor: Descriptor, stored: Mapping[str, Any]) -> None:
    """Give the counter what the index kept about this capability, for this format."""
    if form.name not in COUNTED or not stored:
        return
    pieces = _pieces(form, descriptor)
    counter.learn({piece: stored["pieces"][f"{form.name}.{index}"] for index, piece in enumerate(pieces)})
    counter.learn(dict(zip(chunks(detail_text(descriptor)), stored["detail"], strict=True)))


def _pieces(form: Format, descriptor: Descriptor) -> Sequence[str]:
    mark = form.detail_chunk(CLIPPED.format(id=descriptor.id))
    return (form.summary(descriptor), form.detail_open(descriptor), form.detail_close(descriptor), mark)


def frame_counts(counter: TokenCounter, category_lines: Iterable[str]) -> dict[str, int]:
    """Counts of everything that does not belong to one capability: headings, endings, overview lines, remainders."""
    texts: list[str] = []
    lines = [*category_lines, *(MORE_CATEGORIES.format(count=number) for number in range(1, 200))]
    for form in (FORMATS[name] for name in COUNTED):
        texts += [form.opening, form.closing, *form.headings, *form.endings, *(form.category(line) for line in lines)]
    return {text: counter.exact(text) for text in texts}
