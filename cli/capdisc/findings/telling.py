"""Where the result goes, what stderr is told beside it, and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from capdisc import files, output
from capdisc.exit_codes import ExitCode
from capdisc.findings import formatter
from capdisc.findings.asked import Asked
from capdisc.findings.report import Report
from capdisc.spool import gather
from capdisc_indexer.check.pipeline import Checked
from capdisc_indexer.errors import UsageError
from capdisc_indexer.types import Severity


def teller(format: str, statistics: bool) -> Callable[[Report], Iterable[str]]:
    """From the report to the pieces of what is printed. Raises UsageError for a format that there is not."""
    if not statistics:
        return formatter(format)
    from capdisc.findings.statistics import statistics as count

    if format not in ("full", "concise", "json"):
        raise UsageError(f"--statistics is a table or JSON, not {format}", "leave --format out, or say --json")
    return lambda result: [count(result, format == "json")]


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


def tell(pieces: Iterable[str], path: Path | None) -> None:
    """Print the result, or put it into the file: all of it or nothing."""
    if path is None:
        output.result_pieces(pieces)
    else:
        files.write_blocks(path, gather(pieces))


def notices(want: Asked, found: Checked, result: Report) -> None:
    """What was looked at, and what of it is not shown, on stderr."""
    chosen = found.chosen
    if chosen.unwanted:
        where = ", ".join(want.origins)
        output.notice(f"notice: {output.count(len(chosen.unwanted), 'finding')} not shown, by {where}")
    if chosen.commented:
        output.notice(f"notice: {output.count(len(chosen.commented), 'finding')} silenced by comments in the files")
    output.notice(f"{output.count(result.files, 'file')}, {output.count(result.count, 'finding')}")


def status(result: Report, strict: bool) -> int:
    """Whether something is wrong: errors, and warnings to a strict run."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return ExitCode.FINDINGS if failing & result.severities else ExitCode.OK
