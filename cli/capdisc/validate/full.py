"""For a person: where, how bad, what, the line itself with a mark, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from unicodedata import combining, east_asian_width

from capdisc.output import console
from capdisc.validate.report import Report
from capdisc_indexer.model.types import Finding
from capdisc_indexer.validation.hidden_text import invisible_offsets

# The line that a finding is about, with a mark under the place: at most 120 columns, nothing in it
# obeyed.

MAX_COLUMNS = 120
# Lines of these findings hold a secret, so nobody repeats them.
SECRET_CODES = frozenset({"hard-coded-secret", "secret-file", "secret-value"})
_MARGIN = "  | "
_ELLIPSIS = "…"


def excerpt(finding: Finding, line: str) -> list[str]:
    """The line and, below it, a caret under the finding's column; nothing where there is nothing
    to see.
    """
    line = line.rstrip()
    if not line.strip():
        return []
    column = min(finding.column - 1, len(line))
    start = max(0, column - MAX_COLUMNS)  # a line may have a megabyte
    odd = invisible_offsets(line, start, column + MAX_COLUMNS)
    cells = [
        _display_cell(character, start + at in odd)
        for at, character in enumerate(line[start : column + MAX_COLUMNS])
    ]
    first, end = _visible_range(
        [width for _, width in cells],
        column - start,
        MAX_COLUMNS - len(_MARGIN) - 2 * len(_ELLIPSIS),
    )
    before = _ELLIPSIS if start + first else ""
    after = _ELLIPSIS if start + end < len(line) else ""
    text = "".join(shown for shown, _ in cells[first:end])
    offset = len(before) + sum(width for _, width in cells[first : column - start])
    return [f"{_MARGIN}{before}{text}{after}", f"{_MARGIN}{' ' * offset}^"]


def _display_cell(character: str, odd: bool) -> tuple[str, int]:
    """What stands for a character, and how many columns that takes. An odd one would show nothing
    by itself.
    """
    text = (
        f"<U+{ord(character):04X}>"
        if odd
        else " "
        if character == "\t"
        else console.sanitise(character)
    )
    if len(text) > 1:
        return text, len(text)
    return text, 0 if combining(text) else 2 if east_asian_width(text) in "WF" else 1


def _visible_range(widths: list[int], column: int, width: int) -> tuple[int, int]:
    """The part of the line that fits: up to half of it before the column, then what follows, then
    more before.
    """
    first = end = column
    used = 0
    while first and used + widths[first - 1] <= width // 2:
        first -= 1
        used += widths[first]
    while end < len(widths) and used + widths[end] <= width:
        used += widths[end]
        end += 1
    while first and used + widths[first - 1] <= width:
        first -= 1
        used += widths[first]
    return first, end


def pieces(report: Report) -> Iterator[str]:
    """Each finding in two to four lines."""
    for _, about_one_file in groupby(report.findings, key=lambda finding: finding.path):
        findings = list(about_one_file)
        secret = {finding.line for finding in findings if finding.code in SECRET_CODES}
        for finding in findings:
            yield from (
                f"{console.sanitise(line)}\n"
                for line in _format_finding(report, finding, finding.line in secret)
            )


def _format_finding(report: Report, finding: Finding, is_secret: bool) -> Iterator[str]:
    first, *hint = console.format_finding(finding)
    yield first
    if not is_secret:
        yield from excerpt(finding, report.line(finding))
    yield from hint
