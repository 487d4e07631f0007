"""capdisc validate: what is wrong with capability files; or, with `--rule`, `--rules` and
`--schema`, the rules and why they are there, and the JSON Schemas of the manifests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import argument, option
from capdisc.context import user_files
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc.output.console import gather
from capdisc.validate.check_request import (
    ValidateRequest,
    check_fix_options,
    parse_request,
    run_checks,
)
from capdisc.validate.finding_formats import FORMATS, Report, find_format
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.model.types import Finding, RuleExplanation, Severity
from capdisc_indexer.text.similar_names import unknown_choice
from capdisc_indexer.validation.finding_selection import is_guarded, unknown_code_error
from capdisc_indexer.validation.rules import (
    ONLY,
    PROFILES,
    SCHEMAS,
    load_rules,
    manifest_schema,
)
from capdisc_indexer.validation.validate import ValidationResult

# Of more findings, those of each rule are counted.
_MAX_LISTED = 200


def validate(
    paths: Annotated[
        list[Path] | None,
        argument(metavar="[PATH]...", help="Files or folders to check; - reads stdin."),
    ] = None,
    user: Annotated[
        bool, option(help="Without PATH: your own folders, not the workspace's.")
    ] = False,
    profile: Annotated[
        str | None,
        option(
            help="Whose rules [spec; claude-code for Claude's folders].",
            panel="Rules",
            choices=tuple(PROFILES),
        ),
    ] = None,
    format: Annotated[
        str,
        option(help="The layout of the findings.", panel="Output", choices=tuple(FORMATS)),
    ] = "full",
    target: Annotated[
        Path | None,
        option("--output", metavar="FILE", help="Write the result to this file.", panel="Output"),
    ] = None,
    select: Annotated[
        list[str] | None,
        option(
            metavar="CODES",
            help="Only these rules; name- stands for all that begin with it.",
            panel="Rules",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, option(metavar="CODES", help="All but these rules.", panel="Rules")
    ] = None,
    strict: Annotated[bool, option(help="Warnings fail, too.")] = False,
    fix: Annotated[
        bool, option(help="Print a diff of what can be corrected safely.", panel="Fixes")
    ] = False,
    write: Annotated[
        bool, option(help="With --fix: write the corrections.", panel="Fixes")
    ] = False,
    statistics: Annotated[
        bool, option(help="Count the findings of each rule.", panel="Output")
    ] = False,
    every: Annotated[
        bool,
        option("--all", help=f"Each finding, also of more than {_MAX_LISTED}.", panel="Output"),
    ] = False,
    stdin_filename: Annotated[
        str,
        option(
            metavar="NAME", help="The name of the text on stdin [SKILL.md or CAPABILITY.yaml]."
        ),
    ] = "",
    rule: Annotated[
        str | None, option(metavar="CODE", help="Explain a rule.", panel="Explanations")
    ] = None,
    rules: Annotated[bool, option(help="List all rules.", panel="Explanations")] = False,
    schema: Annotated[
        str | None,
        option(
            help="Print a JSON Schema for editors.",
            panel="Explanations",
            choices=("capability", "skill"),
        ),
    ] = None,
    quiet: Annotated[
        bool,
        option("--quiet", "-q", help="Print the result and errors, no notices.", panel="Output"),
    ] = False,
    json: params.Json = False,
) -> int:
    """Check capability files; no index, model or network is needed.

    Without PATH: the folders of the workspace. Exit status 0: nothing is wrong; 1: something is;
    2: something that was named cannot be checked. Settings: validate.profile,
    validate.select, validate.ignore.

    A comment silences a rule of form for one line: `# capdisc: ignore=name-case` in YAML, and in
    Markdown `<!-- capdisc: ignore=body-long -->` on the line before. Rules that
    guard the reader cannot be silenced so.

    Example: capdisc validate fixtures/catalogs/small
    """
    try:
        if rule or rules or schema:
            return print_schema(schema) if schema else print_rules(rule, json)
        format_name = "json" if json else format
        pieces = select_formatter(format_name, statistics)
        check_fix_options(
            write, fix, "-" in map(str, paths or ()), find_format(format_name).is_for_people
        )
        request = parse_request(paths, stdin_filename, profile, select, ignore, quiet, user)
        check_result, unwritten = run_checks(request), list[InputError]()
        path = resolve_output(target, request, check_result)
        if fix:
            from capdisc.validate import fixing
        if write:
            unwritten = fixing.write_fixes(request, check_result, quiet)
            # Those of a large collection need memory, and are about to be made again.
            del check_result
            check_result = run_checks(request)
        report = Report(result=check_result, profile=request.profile, cwd=request.runtime.cwd)
        findings = check_result.chosen.findings
        is_whole = every or statistics or path is not None or format_name != "full"
        pieces = pieces if is_whole or len(findings) <= _MAX_LISTED else format_summary
        has_colours = path is None and request.runtime.colour
        if fix and not write:
            diff = fixing.format_diff(request, check_result, quiet)
            write_result(_colour(diff, console.colour_diff_line) if has_colours else diff, path)
        elif has_colours and format in ("full", "concise"):
            write_result(_colour(pieces(report), console.colour_finding_line), path)
        else:
            write_result(pieces(report), path)
    except InputError as error:
        # Hooks know three exit codes only: 2 says that something was not checked.
        console.print_error(error)
        if json:
            console.print_error_document("input", error, ExitCode.USAGE)
        return ExitCode.USAGE
    errors = [*check_result.problems, *unwritten]
    if not quiet and (report.files or findings or not errors):
        print_notices(request, check_result, " left" if write else "")
    for unchecked in errors:
        console.print_error(unchecked)
    return ExitCode.USAGE if errors else exit_status(findings, strict)


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


def format_summary(report: Report) -> Iterator[str]:
    """How many findings there are of each rule, and how to see each."""
    yield format_statistics(report, json=False)
    yield "\n\neach of them: add --all; what a rule means: capdisc validate --rule RULE\n"


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
    if {path.as_posix(), path.resolve().as_posix()} & _checked_paths(request, check_result):
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


def _colour(pieces: Iterable[str], colour_line: Callable[[str], str]) -> Iterator[str]:
    for piece in pieces:
        yield from map(colour_line, piece.splitlines(keepends=True))


def write_result(pieces: Iterable[str], path: Path | None) -> None:
    """Print the result, or write it to the file: all of it or nothing."""
    if path is None:
        console.print_pieces(pieces)
    else:
        user_files.write_blocks(path, gather(pieces))


def print_notices(
    request: ValidateRequest, check_result: ValidationResult, tail: str = ""
) -> None:
    """Print on stderr how much was checked, and how many findings are not shown. `tail` follows
    the number of findings.
    """
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
        f"{console.format_count(len(check_result.files), 'file')}, "
        f"{console.format_count(len(chosen.findings), 'finding')}{tail}"
        + (f"; profile {request.profile}: {request.reason}" if request.reason else "")
    )


def exit_status(findings: Iterable[Finding], strict: bool) -> int:
    """FINDINGS where there are errors, or warnings in a strict run; else OK."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    is_failed = any(finding.severity in failing for finding in findings)
    return ExitCode.FINDINGS if is_failed else ExitCode.OK


def print_rules(code: str | None, json: bool) -> int:
    """Print one rule, or all of them in a table. Raises UsageError for an unknown code."""
    if code and code not in load_rules():
        raise unknown_code_error(code)
    chosen = [load_rules()[code]] if code else list(load_rules().values())
    rows = [
        (rule.code, rule.severity, rule.group, "yes" if rule.fixable else "", rule.summary)
        for rule in chosen
    ]
    table = console.format_table(("rule", "severity", "group", "--fix", "what is found"), rows)
    document = {"rules": [_rule_document(rule) for rule in chosen]}
    console.print_answer(json, document, _format_rule(chosen[0]) if code else table)
    return ExitCode.OK


def print_schema(name: str) -> int:
    """Print the JSON Schema of a manifest's fields. Raises UsageError for an unknown name."""
    if name not in SCHEMAS:
        raise unknown_choice("schema", name, SCHEMAS)
    console.print_result(manifest_schema(name))
    return ExitCode.OK


def _format_rule(rule: RuleExplanation) -> list[str]:
    severities = [f"{profile} {level}" for profile, level in _profile_severities(rule).items()]
    lines = [
        f"{rule.code} ({rule.group})",
        rule.summary,
        "",
        f"why       {rule.why}",
        f"fix       {rule.fix}",
        f"severity  {', '.join(severities)}",
    ]
    if rule.fixable:
        lines.append("          validate --fix puts it right")
    if is_guarded(rule.code):
        lines.append("          only --ignore and settings silence it, no comment in a file")
    return [*lines, *(f"see       {reference}" for reference in rule.refs)]


def _profile_severities(rule: RuleExplanation) -> dict[str, str]:
    """The severity of the rule in each profile that has it."""
    profiles = [profile for profile in PROFILES if profile in ONLY.get(rule.code, (profile,))]
    return {profile: str(PROFILES[profile].get(rule.code, rule.severity)) for profile in profiles}


def _rule_document(rule: RuleExplanation) -> JsonObject:
    return {
        **asdict(rule),
        "guarded": is_guarded(rule.code),
        "profiles": _profile_severities(rule),
    }
