"""A JSON object on a line for each finding, for programs that read as they go."""

from __future__ import annotations

from capdisc import output
from capdisc.findings.report import Report


def text(report: Report) -> str:
    """The findings alone, so that the outputs of several runs can be put one after the other."""
    return "\n".join(output.json_text(one, None) for one in report.findings)
