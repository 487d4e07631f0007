"""capdisc validate: what is wrong with capability files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.validate import summary_notices
from capdisc.validate.finding_formats import FORMATS, find_format
from capdisc.validate.report import build_report
from capdisc.validate.validate_request import check_fix_options, parse_request, run_checks
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.validation.profiles import PROFILES


def validate(
    paths: Annotated[
        list[Path] | None,
        argument(metavar="[PATH]...", help="Files or folders to check; - reads stdin."),
    ] = None,
    profile: Annotated[
        str | None, option(help=f"Whose rules: {', '.join(PROFILES)} [spec].")
    ] = None,
    format: Annotated[str, option("--format", help=f"{', '.join(FORMATS)}.")] = "full",
    target: Annotated[
        Path | None, option("--output", metavar="FILE", help="Write the result to this file.")
    ] = None,
    select: Annotated[
        list[str] | None,
        option(metavar="CODES", help="Only these rules; name- stands for all that begin with it."),
    ] = None,
    ignore: Annotated[
        list[str] | None, option(metavar="CODES", help="All but these rules.")
    ] = None,
    strict: Annotated[bool, option("--strict", help="Warnings fail, too.")] = False,
    fix: Annotated[
        bool, option("--fix", help="Print a diff of what can be corrected safely.")
    ] = False,
    write: Annotated[bool, option("--write", help="With --fix: write the corrections.")] = False,
    statistics: Annotated[
        bool, option("--statistics", help="Count the findings of each rule.")
    ] = False,
    stdin_filename: Annotated[
        str,
        option(
            metavar="NAME", help="The name of the text on stdin [SKILL.md or CAPABILITY.yaml]."
        ),
    ] = "",
    rule: Annotated[str | None, option(metavar="CODE", help="Explain a rule.")] = None,
    rules: Annotated[bool, option("--rules", help="List all rules.")] = False,
    schema: Annotated[
        str | None,
        option(metavar="KIND", help="Print a JSON Schema for editors: capability or skill."),
    ] = None,
    quiet: Annotated[
        bool, option("--quiet", "-q", help="Print the result and errors, no notices.")
    ] = False,
    json: params.Json = False,
) -> int:
    """Check capability files; no index, model or network is needed.

    Without PATH: the folders of `capdisc index`. Exit status 0: nothing is wrong; 1: something is;
    2: something that was named cannot be checked. Settings: validate.profile,
    validate.select, validate.ignore.

    A comment silences a rule of form for one line: `# capdisc: ignore=name-case` in YAML, and in
    Markdown `<!-- capdisc: ignore=body-long -->` on the line before. Rules that
    guard the reader cannot be silenced so.

    Example: capdisc validate fixtures/catalogs/small
    """
    try:
        if rule or rules or schema:
            from capdisc.validate import rulebook  # which a check needs nothing of

            return rulebook.print_schema(schema) if schema else rulebook.print_rules(rule, json)
        format_name = "json" if json else format
        pieces = summary_notices.select_formatter(format_name, statistics)
        check_fix_options(
            write, fix, "-" in map(str, paths or ()), find_format(format_name).is_for_people
        )
        request = parse_request(paths, stdin_filename, profile, select, ignore, quiet)
        check_result, unwritten = run_checks(request), list[InputError]()
        path = summary_notices.resolve_output(target, request, check_result)
        if fix:
            from capdisc.validate import fixing
        if write:
            unwritten = fixing.write_fixes(request, check_result, quiet)
            del check_result  # the findings of a large collection, which are about to be made anew
            check_result = run_checks(request)
        chosen = check_result.chosen
        silenced = len(chosen.unwanted) + len(chosen.commented)
        report = build_report(
            len(check_result.files),
            request.profile,
            chosen.findings,
            silenced,
            check_result.source,
            request.runtime.cwd,
        )
        if fix and not write:
            summary_notices.write_result(fixing.format_diff(request, check_result, quiet), path)
        else:
            summary_notices.write_result(pieces(report), path)
    except InputError as error:
        # Hooks know three exit codes only: 2 says that something was not checked.
        console.print_error(error)
        return ExitCode.USAGE
    if not quiet:
        summary_notices.print_notices(request, check_result, report)
    errors = [*check_result.problems, *unwritten]
    for unchecked in errors:
        console.print_error(unchecked)
    return ExitCode.USAGE if errors else summary_notices.exit_status(report, strict)
