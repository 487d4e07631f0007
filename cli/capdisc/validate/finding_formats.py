"""The report of a check, and the formats that its findings can be printed in, by name.

A format is a function from the report to the pieces of what is printed, since the text for a large
collection does not fit into memory, and one entry of `FORMATS`, which says what it is for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Literal
from unicodedata import combining, east_asian_width

import capdisc_guard
from capdisc.output import console
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding, RuleExplanation, Severity
from capdisc_indexer.model.version import __version__
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_indexer.validation.rules import load_rules
from capdisc_indexer.validation.validate import ValidationResult

# The lines of `full`.
MAX_COLUMNS = 120
# Lines of these findings hold a secret, so nobody repeats them.
SECRET_CODES = frozenset({"hard-coded-secret", "secret-file", "secret-value"})
_MARGIN = "  | "
_ELLIPSIS = "…"

# The escapes are those of the documentation of GitHub's workflow commands: what would end a value,
# and the percent sign itself.
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})

SARIF_SCHEMA_URL = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
# What GitHub lists apart from mistakes of form.
_SECURITY_GROUPS = frozenset({"content", "hidden", "path"})


@frozen(kw_only=True)
class Report:
    """What a check found, with paths as they are printed: relative to the current folder where
    they lie below it.
    """

    result: ValidationResult
    profile: str
    cwd: Path

    @property
    def files(self) -> int:
        """How many files were checked."""
        return len(self.result.files)

    @property
    def silenced_count(self) -> int:
        """How many findings are not shown: not chosen, or silenced by a comment."""
        return len(self.result.chosen.unwanted) + len(self.result.chosen.commented)

    @property
    def findings(self) -> Iterator[Finding]:
        """The findings as they are printed, one after the other: a large collection has more than
        fit into memory. The keys that messages quote are masked; paths are not, since programs
        open them.
        """
        base = _prefix_pattern(self.cwd)
        source = self.result.source
        for finding in capdisc_guard.redact_findings(self.result.chosen.findings, source.text):
            yield replace(
                finding,
                path=base.sub("", finding.path, count=1),
                message=base.sub("", finding.message),
                hint=base.sub("", finding.hint),
            )

    def line(self, finding: Finding) -> str:
        """The line of the file that a finding is about, "" where there is none."""
        return self.result.source.line(finding.path, finding.line)


def display_path(path: str, cwd: Path) -> str:
    """The path relative to the current folder where it lies below it."""
    return _prefix_pattern(cwd).sub("", path, count=1)


def _prefix_pattern(cwd: Path) -> re.Pattern[str]:
    """Matches the folder where a path in a text begins with it; nothing for the folder `/`."""
    base = printable_path(cwd.as_posix()).rstrip("/")
    return re.compile(rf"(?:^|(?<=[\s\"'(\[<=,])){re.escape(base)}/(?=[^/])" if base else r"(?!)")


def format_full(report: Report) -> Iterator[str]:
    """Each finding in two to four lines."""
    for _, findings_of_file in groupby(report.findings, key=lambda finding: finding.path):
        findings = list(findings_of_file)
        secret_lines = {finding.line for finding in findings if finding.code in SECRET_CODES}
        for finding in findings:
            for line in _full_lines(report, finding, finding.line in secret_lines):
                yield f"{console.sanitise(line)}\n"


def _full_lines(report: Report, finding: Finding, is_secret: bool) -> Iterator[str]:
    first, *hint = console.format_finding(finding)
    yield first
    if not is_secret:
        yield from _excerpt(finding, report.line(finding))
    yield from hint


def _excerpt(finding: Finding, line: str) -> list[str]:
    """The line, at most `MAX_COLUMNS` of it, and below it a caret under the finding's column;
    nothing where the line is blank.
    """
    line = line.rstrip()
    if not line.strip():
        return []
    column = min(finding.column - 1, len(line))
    start = max(0, column - MAX_COLUMNS)  # a line may have a megabyte
    invisible = capdisc_guard.invisible_offsets(line, start, column + MAX_COLUMNS)
    cells = [
        _display_cell(character, offset in invisible)
        for offset, character in enumerate(line[start : column + MAX_COLUMNS], start)
    ]
    first, end = _visible_range(
        [width for _, width in cells],
        column - start,
        MAX_COLUMNS - len(_MARGIN) - 2 * len(_ELLIPSIS),
    )
    before = _ELLIPSIS if start + first else ""
    after = _ELLIPSIS if start + end < len(line) else ""
    text = "".join(cell_text for cell_text, _ in cells[first:end])
    caret_offset = len(before) + sum(width for _, width in cells[first : column - start])
    return [f"{_MARGIN}{before}{text}{after}", f"{_MARGIN}{' ' * caret_offset}^"]


def _display_cell(character: str, is_invisible: bool) -> tuple[str, int]:
    """What stands for a character, and how many columns that takes. An invisible one is written as
    its code point.
    """
    if is_invisible:
        text = f"<U+{ord(character):04X}>"
    elif character == "\t":
        text = " "
    else:
        text = console.sanitise(character)
    if len(text) > 1:
        return text, len(text)
    return text, 0 if combining(text) else 2 if east_asian_width(text) in "WF" else 1


def _visible_range(widths: list[int], column: int, max_width: int) -> tuple[int, int]:
    """The part of the line that fits: up to half of the width before the column, then what
    follows, then more before.
    """
    first = end = column
    used = 0
    while first and used + widths[first - 1] <= max_width // 2:
        first -= 1
        used += widths[first]
    while end < len(widths) and used + widths[end] <= max_width:
        used += widths[end]
        end += 1
    while first and used + widths[first - 1] <= max_width:
        first -= 1
        used += widths[first]
    return first, end


# For editors and grep, `concise`: a line for each finding, as compilers write them.


def format_concise(report: Report) -> Iterator[str]:
    """`path:line:column: code message`, a line for each finding."""
    return (f"{_concise_line(finding)}\n" for finding in report.findings)


def _concise_line(finding: Finding) -> str:
    line = f"{finding.path}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
    return console.sanitise(line).replace("\n", "<U+000A>")


# For programs, `json` and `json-lines`.


def format_json(report: Report) -> Iterator[str]:
    """One document: how many files, the profile, every finding, and how many are not shown."""
    document = {
        "schema_version": console.SCHEMA_VERSION,
        "files": report.files,
        "profile": report.profile,
        "findings": [],
        "silenced": report.silenced_count,
    }
    return console.json_pieces(document, "findings", report.findings)


def format_json_lines(report: Report) -> Iterator[str]:
    """An object on a line for each finding and nothing else, so that the outputs of several runs
    can be joined.
    """
    return (f"{console.format_json_text(finding, None)}\n" for finding in report.findings)


# Workflow commands of GitHub Actions, which show each finding at its line of a change.


def format_github(report: Report) -> Iterator[str]:
    """`::error file=…,line=…,col=…,title=…::message`, a line for each finding."""
    return (f"{_github_command(finding)}\n" for finding in report.findings)


def _github_command(finding: Finding) -> str:
    fields = {
        "file": finding.path,
        "line": finding.line,
        "col": finding.column,
        "title": finding.code,
    }
    properties = ",".join(
        f"{name}={_escape_value(str(value), _PROPERTY_ESCAPES)}" for name, value in fields.items()
    )
    message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    level = _GITHUB_LEVELS[finding.severity]
    return f"::{level} {properties}::{_escape_value(message, _DATA_ESCAPES)}"


def _escape_value(value: str, table: dict[int, str]) -> str:
    # Line ends are escaped before the rest is made visible, since a carriage return is both.
    return console.sanitise(value.translate(table))


# Findings as SARIF 2.1.0, in the part of it that code scanning on GitHub reads: relative
# addresses, a location for each result.


def format_sarif(report: Report) -> Iterator[str]:
    """One run with the rules that were broken and every finding."""
    codes = sorted({finding.code for finding in report.result.chosen.findings})
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
    document = {"$schema": SARIF_SCHEMA_URL, "version": "2.1.0", "runs": [run]}
    return console.json_pieces(document, "results", _result_documents(report, codes))


def _driver_document(codes: Iterable[str]) -> JsonObject:
    return {
        "name": "capdisc",
        "version": __version__,
        "informationUri": "urn:capdisc:validate",
        "rules": [_rule_document(load_rules()[code]) for code in codes],
    }


def _rule_document(explanation: RuleExplanation) -> JsonObject:
    return {
        "id": explanation.code,
        "shortDescription": {"text": explanation.summary},
        "fullDescription": {"text": f"{explanation.summary} {explanation.why}"},
        "help": {"text": f"{explanation.why} {explanation.fix}"},
        "defaultConfiguration": {"level": _SARIF_LEVELS[explanation.severity]},
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
            "level": _SARIF_LEVELS[finding.severity],
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
    if Path(finding.path).is_absolute():  # outside the current folder
        artifact = {"uri": Path(finding.path).as_uri()}
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


@frozen(kw_only=True)
class FindingFormat:
    """A format, and what options go with it. `statistics` is how `--statistics` prints in its
    place, "" where it does not; `is_for_people` allows a diff in its place, too.
    """

    pieces: Callable[[Report], Iterator[str]]
    statistics: Literal["table", "json", ""] = ""
    is_for_people: bool = False


FORMATS: Mapping[str, FindingFormat] = MappingProxyType(
    {
        "full": FindingFormat(pieces=format_full, statistics="table", is_for_people=True),
        "concise": FindingFormat(pieces=format_concise, statistics="table", is_for_people=True),
        "json": FindingFormat(pieces=format_json, statistics="json"),
        "json-lines": FindingFormat(pieces=format_json_lines),
        "github": FindingFormat(pieces=format_github),
        "sarif": FindingFormat(pieces=format_sarif),
    }
)


def find_format(name: str) -> FindingFormat:
    """The format of this name. Raises UsageError for an unknown name."""
    if name not in FORMATS:
        raise unknown_choice("format", name, FORMATS)
    return FORMATS[name]
