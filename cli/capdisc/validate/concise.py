"""A line for each finding, as compilers write them, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.output import console
from capdisc.validate.report import Report
from capdisc_indexer.model.types import Finding


def pieces(report: Report) -> Iterator[str]:
    """`path:line:column: code message`."""
    return (f"{_format_finding(finding)}\n" for finding in report.findings)


def _format_finding(finding: Finding) -> str:
    return console.sanitise(
        f"{finding.path}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
    ).replace("\n", "<U+000A>")
