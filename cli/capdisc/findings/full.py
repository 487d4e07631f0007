"""For a person: where, how bad, what, the line itself with a mark, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from capdisc import output
from capdisc.findings.excerpt import SECRET, excerpt
from capdisc.findings.report import Report
from capdisc_indexer.types import Finding


def pieces(report: Report) -> Iterator[str]:
    """Each finding in two to four lines."""
    for _, about_one_file in groupby(report.findings, key=lambda finding: finding.path):
        findings = list(about_one_file)
        secret = {finding.line for finding in findings if finding.code in SECRET}
        for finding in findings:
            yield from (f"{output.safe(line)}\n" for line in _lines(report, finding, finding.line in secret))


def _lines(report: Report, one: Finding, is_secret: bool) -> Iterator[str]:
    first, *hint = output.finding_lines(one)
    yield first
    if not is_secret:
        yield from excerpt(one, report.line(one))
    yield from hint
