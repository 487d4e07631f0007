"""How many findings of each rule there are."""

from __future__ import annotations

from collections import Counter

from capdisc import output
from capdisc.findings.report import Report


def statistics(report: Report, json: bool) -> str:
    """A row for each rule, most findings first, as a table or as JSON."""
    counted = Counter((one.code, str(one.severity)) for one in report.findings)
    ranked = sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    if json:
        rows = [{"code": code, "severity": severity, "count": count} for (code, severity), count in ranked]
        facts = {"files": report.files, "profile": report.profile, "counts": rows, "silenced": report.silenced}
        return output.json_text({"schema_version": output.SCHEMA_VERSION, **facts})
    if not ranked:
        return ""
    table = [(f"{count:,}", severity, code) for (code, severity), count in ranked]
    return "\n".join(output.safe(line) for line in output.table(("count", "severity", "rule"), table))
