"""capdisc validate: what is wrong with capability files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from capdisc import files, options, output
from capdisc.exit_codes import ExitCode
from capdisc.findings import FORMATS, formatter
from capdisc.findings.asked import Asked, asked, checked
from capdisc.findings.report import Report, report
from capdisc_indexer.check.pipeline import Checked
from capdisc_indexer.check.profiles import PROFILES
from capdisc_indexer.errors import InputError, UsageError
from capdisc_indexer.types import Severity


def validate(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Files or folders to check; - reads stdin.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help=f"Whose rules: {', '.join(PROFILES)} [spec].")] = None,
    format: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "full",
    target: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write the result there.")] = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CODES", help="Only these rules; name- means all that begin so.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="CODES", help="All but these rules.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Show what can be put right without asking, as a diff.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --fix: write it.")] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="Count the findings of each rule.")] = False,
    stdin_filename: Annotated[
        str, typer.Option(metavar="NAME", help="What the text from stdin is called [SKILL.md or CAPABILITY.yaml].")
    ] = "",
    rule: Annotated[str | None, typer.Option(metavar="CODE", help="Explain a rule.")] = None,
    rules: Annotated[bool, typer.Option("--rules", help="List all rules.")] = False,
    schema: Annotated[
        str | None, typer.Option(metavar="KIND", help="Print a JSON Schema for editors: capability or skill.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the result and errors, no notices.")] = False,
    json: options.Json = False,
) -> int:
    """Check capability files; no index, model or network is needed.

    Without PATH: the folders that `capdisc index` takes. Exit status 0: nothing is wrong; 1: something is; 2: something
    that was named cannot be checked. Settings: validate.profile, validate.select, validate.ignore.

    A comment silences a rule of form for one line: `# capdisc: ignore=name-case` in YAML, and in Markdown
    `<!-- capdisc: ignore=body-long -->` on the line before. Rules that guard the reader stay.

    Example: capdisc validate fixtures/catalogs/small
    """
    try:
        if rule or rules or schema:
            from capdisc.findings import rulebook

            return rulebook.show_schema(schema) if schema else rulebook.show(rule, json)
        tell = _teller("json" if json else format, statistics)
        _refuse(write, fix, "-" in map(str, paths or ()), json or format not in ("full", "concise"))
        want = asked(paths, stdin_filename, profile, select, ignore)
        found, change, unwritten = _mended(want, checked(want), fix, write, quiet)
        chosen = found.chosen
        silenced = len(chosen.unwanted) + len(chosen.commented)
        result = report(len(found.files), want.profile, chosen.findings, silenced, found.source, want.here.cwd)
        _print(change if fix and not write else tell(result), target, want, found)
    except InputError as problem:
        # Hooks know three answers only, and what cannot be read is not checked.
        output.error(problem)
        return ExitCode.USAGE
    if not quiet:
        _notices(want, found, result)
    problems = [*found.problems, *unwritten]
    for each in problems:
        output.error(each)
    return ExitCode.USAGE if problems else _status(result, strict)


def _teller(format: str, statistics: bool) -> Callable[[Report], str]:
    if not statistics:
        return formatter(format)
    from capdisc.findings.statistics import text

    if format not in ("full", "concise", "json"):
        raise UsageError(f"--statistics is a table or JSON, not {format}", "leave --format out, or say --json")
    return lambda result: text(result, format == "json")


def _refuse(write: bool, fix: bool, piped: bool, for_programs: bool) -> None:
    if write and not fix:
        raise UsageError("--write goes with --fix", "say: capdisc validate --fix --write PATH")
    if write and piped:
        raise UsageError("a text from stdin cannot be written back", "leave --write out: the change is printed")
    if fix and not write and for_programs:
        raise UsageError("--fix prints a diff, which has no other format", "leave the format out, or add --write")


def _mended(want: Asked, found: Checked, fix: bool, write: bool, quiet: bool) -> tuple[Checked, str, list[InputError]]:
    """What is found once all that may be is put right, the change as a diff, and what could not be written."""
    if not fix:
        return found, "", []
    from capdisc.findings import fixing

    changes = fixing.mended(want, found)
    if not write:
        if changes and not quiet:
            output.notice(f"notice: {output.count(len(changes), 'file')} can be put right; to do so, add --write")
        return found, fixing.diff(want, changes), []
    unwritten = fixing.write(want, changes, quiet)
    return checked(want), "", unwritten


def _print(text: str, target: Path | None, want: Asked, found: Checked) -> None:
    if target is None:
        output.result(text)
        return
    path = want.here.expand(target)
    if str(path.resolve()) in {file.resolved for file in found.files}:
        raise UsageError(f"{path} is one of the files to check", "name another file to write")
    files.check_target(path)
    files.write(path, f"{text}\n".encode() if text else b"")


def _notices(want: Asked, found: Checked, result: Report) -> None:
    """What was looked at, and what of it is not shown, on stderr."""
    chosen = found.chosen
    if chosen.unwanted:
        where = ", ".join(want.origins)
        output.notice(f"notice: {output.count(len(chosen.unwanted), 'finding')} not shown, by {where}")
    if chosen.commented:
        output.notice(f"notice: {output.count(len(chosen.commented), 'finding')} silenced by comments in the files")
    output.notice(f"{output.count(result.files, 'file')}, {output.count(len(result.findings), 'finding')}")


def _status(result: Report, strict: bool) -> int:
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return ExitCode.FINDINGS if any(one.severity in failing for one in result.findings) else ExitCode.OK
