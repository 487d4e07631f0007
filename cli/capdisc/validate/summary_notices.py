"""Where the result goes, what stderr is told beside it, and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from capdisc.output import console, user_files
from capdisc.output.console import gather
from capdisc.output.failures import ExitCode
from capdisc.validate import load_formatter
from capdisc.validate.report import Report
from capdisc.validate.validate_request import ValidateRequest
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Severity
from capdisc_indexer.validation.validate import ValidationResult

# How many findings of each rule there are.


def format_statistics(report: Report, json: bool) -> str:
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


def select_formatter(format: str, statistics: bool) -> Callable[[Report], Iterable[str]]:
    """From the report to the pieces of what is printed. Raises UsageError for a format that there
    is not.
    """
    if not statistics:
        return load_formatter(format)

    if format not in ("full", "concise", "json"):
        raise UsageError(
            f"--statistics is a table or JSON, not {format}", "leave --format out, or say --json"
        )
    return lambda result: [format_statistics(result, format == "json")]


def resolve_output(
    name: Path | None, request: ValidateRequest, check_result: ValidationResult
) -> Path | None:
    """The file for the result. Raises UsageError where that is a part of what was checked,
    InputError where it cannot be written.
    """
    if name is None:
        return None
    path = request.runtime.expand(name)
    if {str(path), str(path.resolve())} & _checked_paths(request, check_result):
        raise UsageError(f"{path} is one of the files to check", "name another file to write")
    user_files.check_target(path)
    return path


def _checked_paths(request: ValidateRequest, check_result: ValidationResult) -> set[str]:
    """Every file that was read, or would have been if nothing were wrong with it."""
    chosen = check_result.chosen
    blamed = {finding.path for finding in (*chosen.findings, *chosen.unwanted, *chosen.commented)}
    read = {
        path
        for file in check_result.files
        for source in (file, *file.companions)
        for path in (source.path, source.resolved)
    }
    return (
        blamed
        | read
        | (
            {str(request.runtime.expand(Path(request.piped_text[1])))}
            if request.piped_text
            else set()
        )
    )


def write_result(pieces: Iterable[str], path: Path | None) -> None:
    """Print the result, or put it into the file: all of it or nothing."""
    if path is None:
        console.result_pieces(pieces)
    else:
        user_files.write_blocks(path, gather(pieces))


def print_notices(request: ValidateRequest, check_result: ValidationResult, result: Report) -> None:
    """What was looked at, and what of it is not shown, on stderr."""
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
    """Whether something is wrong: errors, and warnings to a strict run."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return ExitCode.FINDINGS if failing & result.severities else ExitCode.OK
