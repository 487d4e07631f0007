"""Where the result goes, what stderr is told beside it, and the exit status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from capdisc import files, output
from capdisc.exit_codes import ExitCode
from capdisc.findings import formatter
from capdisc.findings.asked import Asked
from capdisc.findings.report import Report
from capdisc_indexer.check.pipeline import Checked
from capdisc_indexer.errors import UsageError
from capdisc_indexer.types import Severity


def teller(format: str, statistics: bool) -> Callable[[Report], str]:
    """From the report to what is printed. Raises UsageError for a format that there is not."""
    if not statistics:
        return formatter(format)
    from capdisc.findings.statistics import text

    if format not in ("full", "concise", "json"):
        raise UsageError(f"--statistics is a table or JSON, not {format}", "leave --format out, or say --json")
    return lambda result: text(result, format == "json")


def target(name: Path | None, want: Asked, found: Checked) -> Path | None:
    """The file for the result. Raises UsageError where that is a part of what was checked, InputError where it cannot
    be written."""
    if name is None:
        return None
    path = want.here.expand(name)
    if {str(path), str(path.resolve())} & _checked(want, found):
        raise UsageError(f"{path} is one of the files to check", "name another file to write")
    files.check_target(path)
    return path


def _checked(want: Asked, found: Checked) -> set[str]:
    """Every file that was read, or would have been if nothing were wrong with it."""
    chosen = found.chosen
    blamed = {one.path for one in (*chosen.findings, *chosen.unwanted, *chosen.commented)}
    read = {path for file in found.files for each in (file, *file.companions) for path in (each.path, each.resolved)}
    return blamed | read | ({str(want.here.expand(Path(want.piped[1])))} if want.piped else set())


def tell(text: str, path: Path | None) -> None:
    """Print the result, or put it into the file."""
    if path is None:
        output.result(text)
    else:
        files.write(path, f"{text}\n".encode() if text else b"")


def notices(want: Asked, found: Checked, result: Report) -> None:
    """What was looked at, and what of it is not shown, on stderr."""
    chosen = found.chosen
    if chosen.unwanted:
        where = ", ".join(want.origins)
        output.notice(f"notice: {output.count(len(chosen.unwanted), 'finding')} not shown, by {where}")
    if chosen.commented:
        output.notice(f"notice: {output.count(len(chosen.commented), 'finding')} silenced by comments in the files")
    output.notice(f"{output.count(result.files, 'file')}, {output.count(len(result.findings), 'finding')}")


def status(result: Report, strict: bool) -> int:
    """Whether something is wrong: errors, and warnings to a strict run."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return ExitCode.FINDINGS if any(one.severity in failing for one in result.findings) else ExitCode.OK
