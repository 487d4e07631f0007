"""The line that a finding is about, with a mark under the place: at most 120 columns, nothing in it obeyed."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from capdisc import output
from capdisc_indexer.check.unseen import unseen
from capdisc_indexer.types import Finding

COLUMNS = 120
# Lines of these findings hold a secret, so nobody repeats them.
SECRET = frozenset({"hard-coded-secret", "secret-file", "secret-value"})
_MARGIN = "  | "
_CUT = "…"


def excerpt(one: Finding, line: str) -> list[str]:
    """The line and, below it, a caret under the finding's column; nothing where there is nothing to see."""
    line = line.rstrip()
    if not line.strip():
        return []
    column = min(one.column - 1, len(line))
    start = max(0, column - COLUMNS)  # a line may have a megabyte
    odd = unseen(line, start, column + COLUMNS)
    cells = [_cell(character, start + at in odd) for at, character in enumerate(line[start : column + COLUMNS])]
    first, last = _window([width for _, width in cells], column - start, COLUMNS - len(_MARGIN) - 2 * len(_CUT))
    before = _CUT if start + first else ""
    after = _CUT if start + last < len(line) else ""
    text = "".join(shown for shown, _ in cells[first:last])
    offset = len(before) + sum(width for _, width in cells[first : column - start])
    return [f"{_MARGIN}{before}{text}{after}", f"{_MARGIN}{' ' * offset}^"]


def _cell(character: str, odd: bool) -> tuple[str, int]:
    """What stands for a character, and how many columns that takes. An odd one would show nothing by itself."""
    text = f"<U+{ord(character):04X}>" if odd else " " if character == "\t" else output.safe(character)
    if len(text) > 1:
        return text, len(text)
    return text, 0 if combining(text) else 2 if east_asian_width(text) in "WF" else 1


def _window(widths: list[int], column: int, room: int) -> tuple[int, int]:
    """The part of the line that fits: up to half of it before the column, then what follows, then more before."""
    first = last = column
    used = 0
    while first and used + widths[first - 1] <= room // 2:
        first -= 1
        used += widths[first]
    while last < len(widths) and used + widths[last] <= room:
        used += widths[last]
        last += 1
    while first and used + widths[first - 1] <= room:
        first -= 1
        used += widths[first]
    return first, last
