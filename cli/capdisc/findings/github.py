"""Workflow commands of GitHub Actions, which show each finding beside its line of a change.

The escapes are those of the documentation of workflow commands: what would end a value, and the percent sign itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from capdisc import output
from capdisc.findings.report import Report
from capdisc_indexer.types import Finding, Severity

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def pieces(report: Report) -> Iterator[str]:
    """`::error file=…,line=…,col=…,title=…::message`, a line each."""
    return (f"{_command(finding)}\n" for finding in report.findings)


def _command(one: Finding) -> str:
    parts = {"file": one.path, "line": one.line, "col": one.column, "title": one.code}
    properties = ",".join(f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in parts.items())
    message = f"{one.message} ({one.hint})" if one.hint else one.message
    return f"::{_LEVEL[one.severity]} {properties}::{_escaped(message, _DATA)}"


def _escaped(value: str, table: dict[int, str]) -> str:
    # A line end is escaped before the rest is made visible, since a carriage return is one of both.
    return output.safe(value.translate(table))
