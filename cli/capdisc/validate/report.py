"""The report of a check, with paths as they are printed: relative to the current folder where they
lie below it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.scan.scanned_files import printable_path
from capdisc_indexer.validation.capability_strings import SourceLines
from capdisc_indexer.validation.masking import redact_findings


@frozen(kw_only=True)
class Report:
    """How many files were checked, and the findings: their number, and the codes and severities
    that occur. `line` gives the line of the file that a finding is about, "" where there is none;
    `write` gives the findings as they are printed, each time anew.
    """

    files: int
    profile: str
    silenced_count: int
    count: int
    codes: frozenset[str]
    severities: frozenset[Severity]
    line: Callable[[Finding], str]
    write: Callable[[], Iterator[Finding]]

    @property
    def findings(self) -> Iterator[Finding]:
        """The findings as they are printed, one after the other: a large collection has more than
        fit into memory.
        """
        return self.write()


def build_report(
    files: int,
    profile: str,
    findings: Sequence[Finding],
    silenced: int,
    source: SourceLines,
    cwd: Path,
) -> Report:
    """The report with every path as it is printed, also inside messages, and with the keys masked
    that messages quote. Paths themselves are not masked, since programs open them.
    """
    base = _prefix_pattern(cwd)
    return Report(
        files=files,
        profile=profile,
        silenced_count=silenced,
        count=len(findings),
        codes=frozenset(finding.code for finding in findings),
        severities=frozenset(finding.severity for finding in findings),
        line=lambda finding: source.line(finding.path, finding.line),
        write=lambda: (
            _display_finding(finding, base) for finding in redact_findings(findings, source)
        ),
    )


def display_path(path: str, cwd: Path) -> str:
    """The path relative to the current folder where it lies below it."""
    return _prefix_pattern(cwd).sub("", path, count=1)


def _prefix_pattern(cwd: Path) -> re.Pattern[str]:
    """Matches the folder where a path in a text begins with it; nothing for the folder `/`."""
    base = printable_path(str(cwd)).rstrip("/")
    return re.compile(rf"(?:^|(?<=[\s\"'(\[<=,])){re.escape(base)}/(?=[^/])" if base else r"(?!)")


def _display_finding(finding: Finding, base: re.Pattern[str]) -> Finding:
    message, hint = (base.sub("", text) for text in (finding.message, finding.hint))
    return replace(finding, path=base.sub("", finding.path, count=1), message=message, hint=hint)
