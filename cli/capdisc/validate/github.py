"""Workflow commands of GitHub Actions, which show each finding beside its line of a change.

The escapes are those of the documentation of workflow commands: what would end a value, and the
percent sign itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.output import console
from capdisc.validate.report import Report
from capdisc_indexer.model.types import Finding, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def pieces(report: Report) -> Iterator[str]:
    """`::error file=…,line=…,col=…,title=…::message`, a line each."""
    return (f"{_format_command(finding)}\n" for finding in report.findings)


def _format_command(finding: Finding) -> str:
    parts = {
        "file": finding.path,
        "line": finding.line,
        "col": finding.column,
        "title": finding.code,
    }
    properties = ",".join(
        f"{name}={_escape_value(str(value), _PROPERTY_ESCAPES)}" for name, value in parts.items()
    )
    message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return f"::{_LEVELS[finding.severity]} {properties}::{_escape_value(message, _DATA_ESCAPES)}"


def _escape_value(value: str, table: dict[int, str]) -> str:
    # A line end is escaped before the rest is made visible, since a carriage return is one of
    # both.
    return console.sanitise(value.translate(table))
