"""A line for each finding, as compilers write them, for editors and grep."""

from __future__ import annotations

from capdisc import output
from capdisc.findings.report import Report
from capdisc_indexer.types import Finding


def text(report: Report) -> str:
    """`path:line:column: code message`."""
    return "\n".join(_line(one) for one in report.findings)


def _line(one: Finding) -> str:
    return output.safe(f"{one.path}:{one.line}:{one.column}: {one.code} {one.message}").replace("\n", "<U+000A>")
