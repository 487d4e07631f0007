"""Findings as SARIF 2.1.0, in the part of it that code scanning on GitHub reads: relative
addresses, a location for each result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from capdisc.output import console
from capdisc.validate.report import Report
from capdisc_indexer import __version__
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.validation.rule_explanations import RuleExplanation, explain_rule

SCHEMA_URL = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# What GitHub lists apart from mistakes of form.
_SECURITY_GROUPS = frozenset({"content", "hidden", "path"})
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def format_sarif(report: Report) -> Iterator[str]:
    """One run with the rules that were broken and every finding."""
    codes = sorted(report.codes)
    run = {
        "tool": {"driver": _driver_document(codes)},
        "columnKind": "unicodeCodePoints",
        "results": [],
        "properties": {
            "profile": report.profile,
            "files": report.files,
            "silenced": report.silenced_count,
        },
    }
    document = {"$schema": SCHEMA_URL, "version": "2.1.0", "runs": [run]}
    return console.json_pieces(document, "results", _result_documents(report, codes))


def _driver_document(codes: Iterable[str]) -> JsonObject:
    return {
        "name": "capdisc",
        "version": __version__,
        "informationUri": "urn:capdisc:validate",
        "rules": [_rule_document(explain_rule(code)) for code in codes],
    }


def _rule_document(explanation: RuleExplanation) -> JsonObject:
    return {
        "id": explanation.code,
        "shortDescription": {"text": explanation.summary},
        "fullDescription": {"text": f"{explanation.summary} {explanation.why}"},
        "help": {"text": f"{explanation.why} {explanation.fix}"},
        "defaultConfiguration": {"level": _LEVELS[explanation.severity]},
        "properties": {
            "tags": [
                explanation.group,
                *(["security"] if explanation.group in _SECURITY_GROUPS else []),
            ]
        },
    }


def _result_documents(report: Report, codes: list[str]) -> Iterator[JsonObject]:
    fingerprint_counts: Counter[str] = Counter()
    path = ""
    for finding in report.findings:
        if finding.path != path:  # a part of each fingerprint, so that no two files share one
            fingerprint_counts.clear()
            path = finding.path
        line = report.line(finding)
        fingerprint = _fingerprint(finding, line)
        fingerprint_counts[fingerprint] += 1
        yield {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {
                "text": f"{finding.message} ({finding.hint})" if finding.hint else finding.message
            },
            "locations": [{"physicalLocation": _finding_location(finding, line)}],
            # The number tells equal lines of one file apart by their order.
            "partialFingerprints": {
                "primaryLocationLineHash": f"{fingerprint}:{fingerprint_counts[fingerprint]}"
            },
        }


def _finding_location(finding: Finding, line: str) -> JsonObject:
    """From the finding to the end of its line; `endColumn` is the one after the last, as SARIF
    defines it.
    """
    from urllib.parse import quote

    artifact = {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}
    if finding.path.startswith("/"):  # outside the current folder
        artifact = {"uri": f"file://{quote(finding.path)}"}
    start, end = max(finding.column, 1), len(line.rstrip()) + 1
    region = {
        "startLine": finding.line,
        "startColumn": start,
        "endLine": finding.line,
        "endColumn": max(start + 1, end),
    }
    return {"artifactLocation": artifact, "region": region}


def _fingerprint(finding: Finding, line: str) -> str:
    """16 hexadecimal digits that stay the same as long as rule, file and line do, wherever in the
    file the line moves.
    """
    from hashlib import sha256

    return sha256(
        "\0".join((finding.code, finding.path, line.strip())).encode("utf-8", "replace")
    ).hexdigest()[:16]
