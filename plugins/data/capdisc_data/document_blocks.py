"""Documents as blocks, headings and text in order: the form that every reader of documents gives,
with the readers of Markdown and plain text. `document_capabilities` makes sections and
capabilities of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.markdown import prose_lines
from capdisc_indexer.text.normalization import one_line

MAX_TITLE = 200
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_RULE = re.compile(r" {0,3}(?:={3,}|-{3,})[ \t]*")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,4}[.)])[ \t]+\S")
_MARKS = re.compile(r"\*\*|__|`|\s#+\s*$")


@frozen
class DocumentBlock:
    """A heading (`level` 1 to 6) or a block of text (`level` 0), and the line of its begin. A
    `whole` block is a table, a list or code, and should not be divided.
    """

    level: int
    text: str
    line: int = 1
    whole: bool = False


def encode_blocks(blocks: Sequence[DocumentBlock], title: str, cut: str = "") -> JsonObject:
    """The blocks as JSON, for the answer of a reader process; `cut` says what was not read."""
    pieces = [[block.level, block.text, block.line, block.whole] for block in blocks]
    return {
        "pieces": pieces,
        "title": title,
        "cut": f"not all of it is read: {cut}" if cut else "",
    }


def of_text(text: str) -> Iterator[DocumentBlock]:
    """The paragraphs of a plain text."""
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            lines.append(line)
        elif lines:
            yield DocumentBlock(0, "\n".join(lines), number - len(lines))
            lines = []


def of_markdown(text: str, first_line: int = 1) -> Iterator[DocumentBlock]:
    """The headings and blocks of a Markdown text; code has no headings.

    >>> [(piece.level, piece.text) for piece in of_markdown("# Leave\\n\\nTake it.\\n\\nRules\\n---\\n")]
    [(1, 'Leave'), (0, 'Take it.'), (2, 'Rules')]
    """
    lines = text.split("\n")
    outside = {number for number, _ in prose_lines(text)}
    paragraph_lines: list[str] = []
    was_code = False
    for place, line in enumerate(lines):
        is_code = place + 1 not in outside
        level, title = (0, "") if is_code else _heading(line, paragraph_lines)
        if level and not _HEADING.fullmatch(line):
            paragraph_lines = []  # its one line is the title
        ends = (
            level
            or is_code != was_code
            or not (
                line.strip()
                or is_code
                or _list_continues(paragraph_lines, lines[place + 1 : place + 2])
            )
        )
        if ends and paragraph_lines:
            yield from _block(paragraph_lines, first_line + place)
            paragraph_lines = []
        if level:
            yield DocumentBlock(level, title, first_line + place)
        elif line.strip() or paragraph_lines:
            paragraph_lines.append(line)
        was_code = is_code
    yield from _block(paragraph_lines, first_line + len(lines))


def _heading(line: str, above: Sequence[str]) -> tuple[int, str]:
    """Level and title of a heading, which may be a rule below a single line of text; (0, "") for
    anything else.
    """
    if match := _HEADING.fullmatch(line):
        title = _title(match[2])
        return (len(match[1]), title) if title else (0, "")
    if len(above) != 1 or len(above[0]) > MAX_TITLE or not _RULE.fullmatch(line):
        return 0, ""
    if _ITEM.match(above[0]) or above[0].lstrip().startswith(("|", ">", "```", "~~~")):
        return 0, ""
    return 1 if "=" in line else 2, _title(above[0])


def _title(text: str) -> str:
    return one_line(_MARKS.sub("", text), MAX_TITLE)


def _list_continues(paragraph: Sequence[str], following: Sequence[str]) -> bool:
    """Whether the lines are a list, and the line after the blank one belongs to it."""
    is_list = bool(paragraph) and any(_ITEM.match(line) for line in paragraph)
    return is_list and any(
        _ITEM.match(line) or line.startswith(("  ", "\t")) for line in following
    )


def _block(lines: Sequence[str], end: int) -> Iterator[DocumentBlock]:
    if any(line.strip() for line in lines):
        yield DocumentBlock(0, "\n".join(lines).strip("\n"), end - len(lines), _is_whole(lines))


def _is_whole(lines: Sequence[str]) -> bool:
    """Whether the lines are a table, a list or code."""
    rows = sum(1 for line in lines if line.lstrip().startswith("|") or line.count("|") > 1)
    return (
        rows > 1
        or lines[0].lstrip().startswith(("```", "~~~"))
        or any(_ITEM.match(line) for line in lines)
    )
