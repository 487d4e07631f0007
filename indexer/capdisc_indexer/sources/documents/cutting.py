"""Sections of a document: what stands below each heading, cut on paragraph borders where it is long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.documents.pieces import Piece

CHUNK_CHARACTERS = 1_500
# Tables, lists and code stay whole up to here; nobody reads a longer one in one go, and content has a limit.
WHOLE_CHARACTERS = 12_000
MAX_SECTIONS = 5_000
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n")


@frozen(kw_only=True)
class Section:
    """One chunk of text, with the heading that it stands below (level 0: none yet) and those above that one.
    `part` counts the chunks below one heading, from 1."""

    title: str
    level: int
    path: tuple[str, ...]
    text: str
    line: int
    part: int


def sections(pieces: Iterable[Piece], size: int = CHUNK_CHARACTERS) -> Iterator[Section]:
    """The sections in the order of the text. A heading with nothing below it but other headings gives none, and a
    heading that comes last gives one without text."""
    above: list[Piece] = []
    pending: list[Piece] = []
    for piece in pieces:
        if not piece.level:
            pending.append(piece)
            continue
        yield from _below(above, pending, size)
        above = [*[each for each in above if each.level < piece.level], piece]
        pending = []
    yield from _below(above, pending, size)


def _below(above: Sequence[Piece], blocks: Sequence[Piece], size: int) -> Iterator[Section]:
    titles = [piece.text for piece in above]
    for part, (text, line) in enumerate(_packed(blocks, size), 1):
        yield Section(
            title=titles[-1] if titles else "",
            level=above[-1].level if above else 0,
            path=tuple(titles[:-1]),
            text=text,
            line=line,
            part=part,
        )


def _packed(blocks: Sequence[Piece], size: int) -> Iterator[tuple[str, int]]:
    """Blocks put together up to the size, each chunk with its first line. What is whole may be longer."""
    chunk: list[str] = []
    line, used = 1, 0
    for block in (piece for given in blocks for piece in _fitting(given, size)):
        if chunk and used + len(block.text) > size:
            yield "\n\n".join(chunk), line
            chunk, used = [], 0
        line = line if chunk else block.line
        chunk.append(block.text)
        used += len(block.text) + 2
    if chunk:
        yield "\n\n".join(chunk), line


def _fitting(block: Piece, size: int) -> Iterator[Piece]:
    """The block, or its parts where it is too long: at the ends of lines for what is whole, else of sentences."""
    most = WHOLE_CHARACTERS if block.whole else size
    if len(block.text) <= most:
        yield block
        return
    start = 0
    while start < len(block.text):
        end = _end(block, start, start + most)
        yield Piece(0, block.text[start:end].strip("\n "), block.line + block.text.count("\n", 0, start), block.whole)
        start = end


def _end(block: Piece, start: int, limit: int) -> int:
    if limit >= len(block.text):
        return len(block.text)
    middle = start + (limit - start) // 2
    if block.whole:
        found = block.text.rfind("\n", middle, limit) + 1
    else:
        found = max((each.end() for each in _SENTENCE.finditer(block.text, middle, limit)), default=0)
    return found or block.text.rfind(" ", middle, limit) + 1 or limit
