"""What a check prints: the result or its statistics, notices on stderr, and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from capdisc.output import console, user_files
from capdisc.output.console import gather
from capdisc.output.failures import ExitCode
from capdisc.validate.finding_formats import find_format
from capdisc.validate.report import Report
from capdisc.validate.validate_request import ValidateRequest
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Severity
from capdisc_indexer.validation.validate import ValidationResult


def format_statistics(report: Report, json: bool) -> str:
    """A row for each rule, most findings first, as a table or as JSON."""
    counts = Counter((finding.code, str(finding.severity)) for finding in report.findings)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
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


def select_formatter(format: str, statistics: bool) -> Callable[[Report], Iterable[str]]:
    """The function from the report to the pieces of what is printed. Raises UsageError for an
    unknown format, and for one that cannot print statistics.
    """
    chosen = find_format(format)
    if not statistics:
        return chosen.pieces
    if not chosen.statistics:
        raise UsageError(
            f"--statistics prints a table or JSON, not {format}",
            "leave --format out, or add --json",
        )
    return lambda report: [format_statistics(report, chosen.statistics == "json")]


def resolve_output(
    name: Path | None, request: ValidateRequest, check_result: ValidationResult
) -> Path | None:
    """The file to write the result to. Raises UsageError where it is one of the files that were
    checked, InputError where it cannot be written.
    """
    if name is None:
        return None
    path = request.runtime.expand(name)
    if {str(path), str(path.resolve())} & _checked_paths(request, check_result):
        raise UsageError(f"{path} is one of the files to check", "name another file to write")
    user_files.check_target(path)
    return path


def _checked_paths(request: ValidateRequest, check_result: ValidationResult) -> set[str]:
    """Every file that was read, and those that could not be."""
    chosen = check_result.chosen
    paths = {finding.path for finding in (*chosen.findings, *chosen.unwanted, *chosen.commented)}
    for file in check_result.files:
        for source in (file, *file.companions):
            paths |= {source.path, source.resolved}
    if request.piped_text:
        paths.add(str(request.runtime.expand(Path(request.piped_text[1]))))
    return paths


def write_result(pieces: Iterable[str], path: Path | None) -> None:
    """Print the result, or write it to the file: all of it or nothing."""
    if path is None:
        console.print_pieces(pieces)
    else:
        user_files.write_blocks(path, gather(pieces))


def print_notices(
    request: ValidateRequest, check_result: ValidationResult, result: Report
) -> None:
    """Print on stderr how much was checked, and how many findings are not shown."""
    chosen = check_result.chosen
    if chosen.unwanted:
        where = ", ".join(request.origins)
        console.print_notice(
            f"notice: {console.format_count(len(chosen.unwanted), 'finding')} not shown, by {where}"
        )
    if chosen.commented:
        console.print_notice(
            f"notice: {console.format_count(len(chosen.commented), 'finding')} silenced by comments in the files"
        )
    console.print_notice(
        f"{console.format_count(result.files, 'file')}, {console.format_count(result.count, 'finding')}"
    )


def exit_status(result: Report, strict: bool) -> int:
    """FINDINGS where there are errors, or warnings in a strict run; else OK."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return ExitCode.FINDINGS if failing & result.severities else ExitCode.OK
