"""The sentences of a text in Markdown, each with the headings that it stands under."""

from __future__ import annotations

import re
from collections.abc import Iterator

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.normalization import one_line, strip_controls

MAX_CHARACTERS = 65_536
MAX_SENTENCE_CHARACTERS = 400
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+([^\n]*)")
# What begins a line of its own: an item, a quotation.
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)]|>)[ \t]*")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|(?<=[。！？])")


_ROW = re.compile(r"[ \t]*\|")
_RULE = re.compile(r"[ \t|:-]+")


@frozen(kw_only=True)
class Sentence:
    """One sentence, item or row on one line; `under` is the last heading before it, of a row the
    table's own too.
    """

    text: str
    heading: str = ""


def split_sentences(text: str) -> Iterator[Sentence]:
    """The sentences in order, code left out. Lines of one paragraph are one text."""
    under, columns, paragraph = "", "", [""]
    for line in (line for _, line in prose_lines(strip_controls(text[:MAX_CHARACTERS]))):
        if _ROW.match(line):
            yield from _split_paragraph(" ".join(paragraph), under)
            paragraph = [""]
            if columns and not _RULE.fullmatch(line):
                yield from _split_paragraph(line, f"{under} {columns}")
            columns = columns or one_line(line, MAX_SENTENCE_CHARACTERS)
            continue
        heading, item, columns = _HEADING.fullmatch(line), _ITEM.match(line), ""
        if heading or item or not line.strip():
            yield from _split_paragraph(" ".join(paragraph), under)
            under = one_line(heading[1].strip(" #"), MAX_SENTENCE_CHARACTERS) if heading else under
            paragraph = [line[item.end() :] if item and not heading else ""]
        else:
            paragraph.append(line)
    yield from _split_paragraph(" ".join(paragraph), under)


def _split_paragraph(paragraph: str, under: str) -> Iterator[Sentence]:
    for piece in _SENTENCE_END.split(paragraph):
        if text := one_line((piece or "").strip(" |"), MAX_SENTENCE_CHARACTERS):
            yield Sentence(text=text, heading=under)
