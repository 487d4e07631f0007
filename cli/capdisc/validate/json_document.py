"""One JSON document, for programs."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.output import console
from capdisc.validate.report import Report


def pieces(report: Report) -> Iterator[str]:
    """How many files, the profile, every finding, and how many are not shown."""
    document = {
        "schema_version": console.SCHEMA_VERSION,
        "files": report.files,
        "profile": report.profile,
        "findings": [],
        "silenced": report.silenced_count,
    }
    return console.json_pieces(document, "findings", report.findings)
