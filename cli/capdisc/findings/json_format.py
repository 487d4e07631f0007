"""One JSON document, for programs."""

from __future__ import annotations

from capdisc import output
from capdisc.findings.report import Report


def text(report: Report) -> str:
    """How many files, the profile, every finding, and how many are not shown."""
    return output.json_text(
        {
            "schema_version": output.SCHEMA_VERSION,
            "files": report.files,
            "profile": report.profile,
            "findings": report.findings,
            "silenced": report.silenced,
        }
    )
