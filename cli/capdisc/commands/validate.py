"""capdisc validate: what is wrong with capability files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc import options, output
from capdisc.declaring import argument, option
from capdisc.exit_codes import ExitCode
from capdisc.findings import FORMATS, telling
from capdisc.findings.asked import asked, checked, refuse
from capdisc.findings.report import report
from capdisc_indexer.check.profiles import PROFILES
from capdisc_indexer.errors import InputError


def validate(
    paths: Annotated[
        list[Path] | None, argument(metavar="[PATH]...", help="Files or folders to check; - reads stdin.")
    ] = None,
    profile: Annotated[str | None, option(help=f"Whose rules: {', '.join(PROFILES)} [spec].")] = None,
    format: Annotated[str, option("--format", help=f"{', '.join(FORMATS)}.")] = "full",
    target: Annotated[Path | None, option("--output", metavar="FILE", help="Write the result there.")] = None,
    select: Annotated[
        list[str] | None, option(metavar="CODES", help="Only these rules; name- means all that begin so.")
    ] = None,
    ignore: Annotated[list[str] | None, option(metavar="CODES", help="All but these rules.")] = None,
    strict: Annotated[bool, option("--strict", help="Warnings fail too.")] = False,
    fix: Annotated[bool, option("--fix", help="Show what can be put right without asking, as a diff.")] = False,
    write: Annotated[bool, option("--write", help="With --fix: write it.")] = False,
    statistics: Annotated[bool, option("--statistics", help="Count the findings of each rule.")] = False,
    stdin_filename: Annotated[
        str, option(metavar="NAME", help="What the text from stdin is called [SKILL.md or CAPABILITY.yaml].")
    ] = "",
    rule: Annotated[str | None, option(metavar="CODE", help="Explain a rule.")] = None,
    rules: Annotated[bool, option("--rules", help="List all rules.")] = False,
    schema: Annotated[
        str | None, option(metavar="KIND", help="Print a JSON Schema for editors: capability or skill.")
    ] = None,
    quiet: Annotated[bool, option("--quiet", "-q", help="Print the result and errors, no notices.")] = False,
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
        text = telling.teller("json" if json else format, statistics)
        refuse(write, fix, "-" in map(str, paths or ()), json or format not in ("full", "concise"))
        want = asked(paths, stdin_filename, profile, select, ignore, quiet)
        found, change, unwritten = checked(want), "", list[InputError]()
        path = telling.target(target, want, found)
        if fix:
            from capdisc.findings import fixing

            found, change, unwritten = fixing.put_right(want, found, write, quiet)
        chosen = found.chosen
        silenced = len(chosen.unwanted) + len(chosen.commented)
        result = report(len(found.files), want.profile, chosen.findings, silenced, found.source, want.here.cwd)
        telling.tell(change if fix and not write else text(result), path)
    except InputError as problem:
        # Hooks know three answers only, and what cannot be read is not checked.
        output.error(problem)
        return ExitCode.USAGE
    if not quiet:
        telling.notices(want, found, result)
    problems = [*found.problems, *unwritten]
    for each in problems:
        output.error(each)
    return ExitCode.USAGE if problems else telling.status(result, strict)
