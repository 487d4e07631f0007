"""How many findings of each rule there are."""

from __future__ import annotations

from collections import Counter

from capdisc.output import console
from capdisc.validate.report import Report


def statistics(report: Report, json: bool) -> str:
    """A row for each rule, most findings first, as a table or as JSON."""
    counted = Counter((one.code, str(one.severity)) for one in report.findings)
    ranked = sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    if json:
        rows = [
            {"code": code, "severity": severity, "count": count}
            for (code, severity), count in ranked
        ]
        facts = {
            "files": report.files,
            "profile": report.profile,
            "counts": rows,
            "silenced": report.silenced_count,
        }
        return console.format_json_text({"schema_version": console.SCHEMA_VERSION, **facts})
    if not ranked:
        return ""
    table = [(f"{count:,}", severity, code) for (code, severity), count in ranked]
    return "\n".join(
        console.sanitise(line)
        for line in console.format_table(("count", "severity", "rule"), table)
    )
