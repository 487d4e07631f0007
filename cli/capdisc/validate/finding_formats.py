"""The formats that findings can be printed in, by name.

A format is a function from the report to the pieces of what is printed, since the text for a large
collection does not fit into memory, and one entry of `FORMATS`, which says what it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Literal
from unicodedata import combining, east_asian_width

from capdisc.output import console
from capdisc.validate.report import Report
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.validation.hidden_text import invisible_offsets

# For a person, `full`: where, how bad, what, the line itself with a mark, and what to do.

MAX_COLUMNS = 120
# Lines of these findings hold a secret, so nobody repeats them.
SECRET_CODES = frozenset({"hard-coded-secret", "secret-file", "secret-value"})
_MARGIN = "  | "
_ELLIPSIS = "…"


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
    invisible = invisible_offsets(line, start, column + MAX_COLUMNS)
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


# Workflow commands of GitHub Actions, which show each finding beside its line of a change. The
# escapes are those of the documentation of workflow commands: what would end a value, and the
# percent sign itself.

_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_DATA_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


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


def _format_sarif(report: Report) -> Iterator[str]:
    # Imported here, since it reads the explanations of all rules, which a hook is spared.
    from capdisc.validate import sarif

    return sarif.format_sarif(report)


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
        "sarif": FindingFormat(pieces=_format_sarif),
    }
)


def find_format(name: str) -> FindingFormat:
    """The format of this name. Raises UsageError for an unknown name."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}", f"one of: {', '.join(FORMATS)}")
    return FORMATS[name]
