"""What was checked and found, with paths as they are shown: from the current folder on where they lie below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from capdisc_indexer.check.sourcetext import SourceText
from capdisc_indexer.types import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`line` gives the line of the file that a finding is about, "" where there is none to show."""

    files: int
    profile: str
    findings: tuple[Finding, ...]
    silenced: int
    line: Callable[[Finding], str]


def report(
    files: int, profile: str, findings: Iterable[Finding], silenced: int, source: SourceText, cwd: Path
) -> Report:
    """The report with every path as it is shown here, those inside messages too."""
    base = f"{str(cwd).rstrip('/')}/"
    return Report(
        files=files,
        profile=profile,
        findings=tuple(_shown(one, base) for one in findings),
        silenced=silenced,
        line=lambda one: source.line(one.path, one.line),
    )


def shown(path: str, cwd: Path) -> str:
    """The path from the current folder on where it lies below it."""
    return path.removeprefix(f"{str(cwd).rstrip('/')}/") or path


def _shown(one: Finding, base: str) -> Finding:
    path = one.path.removeprefix(base) or one.path
    return replace(one, path=path, message=one.message.replace(base, ""), hint=one.hint.replace(base, ""))
