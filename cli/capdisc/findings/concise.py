"""A line for each finding, as compilers write them, for editors and grep."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc import output
from capdisc.findings.report import Report
from capdisc_indexer.types import Finding


def pieces(report: Report) -> Iterator[str]:
    """`path:line:column: code message`."""
    return (f"{_line(finding)}\n" for finding in report.findings)


def _line(one: Finding) -> str:
    return output.safe(f"{one.path}:{one.line}:{one.column}: {one.code} {one.message}").replace("\n", "<U+000A>")
