"""SARIF 2.1.0, in the part of it that code scanning on GitHub reads: relative addresses, a place for each result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from capdisc import output
from capdisc.findings.report import Report
from capdisc_indexer import __version__
from capdisc_indexer.check.explain import Rule, rule
from capdisc_indexer.types import Finding, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# What GitHub lists apart from mistakes of form.
_SECURITY = frozenset({"content", "hidden", "path"})
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def pieces(report: Report) -> Iterator[str]:
    """One run with the rules that were broken and every finding."""
    codes = sorted(report.codes)
    run = {
        "tool": {"driver": _driver(codes)},
        "columnKind": "unicodeCodePoints",
        "results": [],
        "properties": {"profile": report.profile, "files": report.files, "silenced": report.silenced},
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return output.json_pieces(document, "results", _results(report, codes))


def _driver(codes: Iterable[str]) -> dict[str, Any]:
    return {
        "name": "capdisc",
        "version": __version__,
        "informationUri": "urn:capdisc:validate",
        "rules": [_rule(rule(code)) for code in codes],
    }


def _rule(one: Rule) -> dict[str, Any]:
    return {
        "id": one.code,
        "shortDescription": {"text": one.summary},
        "fullDescription": {"text": f"{one.summary} {one.why}"},
        "help": {"text": f"{one.why} {one.fix}"},
        "defaultConfiguration": {"level": _LEVEL[one.severity]},
        "properties": {"tags": [one.group, *(["security"] if one.group in _SECURITY else [])]},
    }


def _results(report: Report, codes: list[str]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    path = ""
    for one in report.findings:
        if one.path != path:  # which the marks hold: none of another file is the same
            seen.clear()
            path = one.path
        line = report.line(one)
        mark = _fingerprint(one, line)
        seen[mark] += 1
        yield {
            "ruleId": one.code,
            "ruleIndex": codes.index(one.code),
            "level": _LEVEL[one.severity],
            "message": {"text": f"{one.message} ({one.hint})" if one.hint else one.message},
            "locations": [{"physicalLocation": _place(one, line)}],
            # Equal lines of one file are told apart by their order.
            "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
        }


def _place(one: Finding, line: str) -> dict[str, Any]:
    """From the finding to the end of its line; a column after the last is meant, as the format has it."""
    from urllib.parse import quote

    outside = one.path.startswith("/")
    artifact = {"uri": f"file://{quote(one.path)}"} if outside else {"uri": quote(one.path), "uriBaseId": "%SRCROOT%"}
    start, end = max(one.column, 1), len(line.rstrip()) + 1
    region = {"startLine": one.line, "startColumn": start, "endLine": one.line, "endColumn": max(start + 1, end)}
    return {"artifactLocation": artifact, "region": region}


def _fingerprint(one: Finding, line: str) -> str:
    """The same for as long as rule, file and line stay, wherever in the file the line moves."""
    from hashlib import sha256

    return sha256("\0".join((one.code, one.path, line.strip())).encode("utf-8", "replace")).hexdigest()[:16]
