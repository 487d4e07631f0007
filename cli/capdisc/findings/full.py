"""For a person: where, how bad, what, the line itself with a mark, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc import output
from capdisc.findings.excerpt import SECRET, excerpt
from capdisc.findings.report import Report
from capdisc_indexer.types import Finding


def text(report: Report) -> str:
    """Each finding in two to four lines."""
    secret = {(one.path, one.line) for one in report.findings if one.code in SECRET}
    return "\n".join(output.safe(line) for one in report.findings for line in _lines(report, one, secret))


def _lines(report: Report, one: Finding, secret: set[tuple[str, int]]) -> Iterator[str]:
    first, *hint = output.finding_lines(one)
    yield first
    if (one.path, one.line) not in secret:
        yield from excerpt(one, report.line(one))
    yield from hint
