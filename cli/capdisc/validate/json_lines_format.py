"""A JSON object on a line for each finding, for programs that read as they go."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.output import console
from capdisc.validate.report import Report


def pieces(report: Report) -> Iterator[str]:
    """The findings alone, so that the outputs of several runs can be put one after the other."""
    return (f"{console.format_json_text(finding, None)}\n" for finding in report.findings)
