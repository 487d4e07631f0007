"""capdisc validate: what is wrong with capability files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from capdisc.args import params
from capdisc.args.params import argument, option
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.validate import FORMATS, summary_notices
from capdisc.validate.report import build_report, display_path
from capdisc.validate.validate_request import (
    ValidateRequest,
    check_fix_options,
    parse_request,
    run_checks,
)
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import asdict
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation import schemas
from capdisc_indexer.validation.finding_selection import unknown_code_error
from capdisc_indexer.validation.hidden_text import show_invisible as shown_text
from capdisc_indexer.validation.profiles import ONLY, PROFILES
from capdisc_indexer.validation.secret_keys import mask_keys
from capdisc_indexer.validation.suppression_comments import is_guarded
from capdisc_indexer.validation.validate import ValidationResult

if TYPE_CHECKING:  # a check without --fix, --diff and --rules, as a hook makes it, needs neither
    from capdisc_indexer.validation.autofix import FixedFile
    from capdisc_indexer.validation.rule_explanations import RuleExplanation

# What the rules are and why, and the JSON Schemas of the manifests.

SCHEMAS = ("capability", "skill")


def print_rules(code: str | None, json: bool) -> int:
    """Print one rule, or all of them in a table. Raises UsageError for a code that no rule has."""
    from capdisc_indexer.validation.rule_explanations import load_rules

    if code and code not in load_rules():
        raise unknown_code_error(code)
    named = [load_rules()[code]] if code else list(load_rules().values())
    if json:
        console.print_document({"rules": [_rule_document(rule) for rule in named]})
    elif code:
        console.print_lines(_format_rule(named[0]))
    else:
        rows = [
            (rule.code, rule.severity, rule.group, "yes" if rule.fixable else "", rule.summary)
            for rule in named
        ]
        console.print_lines(
            console.format_table(("rule", "severity", "group", "--fix", "what is found"), rows)
        )
    return ExitCode.OK


def print_schema(name: str) -> int:
    """Print the JSON Schema of a manifest's fields. Raises UsageError for a manifest that has
    none.
    """
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema of {name!r}", f"one of: {', '.join(SCHEMAS)}")
    console.print_result(
        Path(schemas.__path__[0], f"{name}.schema.json").read_text(encoding="utf-8")
    )
    return ExitCode.OK


def _format_rule(rule: RuleExplanation) -> list[str]:
    lines = [
        f"{rule.code} ({rule.group})",
        rule.summary,
        "",
        f"why       {rule.why}",
        f"fix       {rule.fix}",
    ]
    lines += [
        f"severity  {', '.join(f'{profile} {level}' for profile, level in _severity_levels(rule).items())}"
    ]
    lines += ["          validate --fix puts it right"] if rule.fixable else []
    lines += (
        ["          only --ignore and settings silence it, no comment in a file"]
        if is_guarded(rule.code)
        else []
    )
    return [*lines, *(f"see       {reference}" for reference in rule.refs)]


def _severity_levels(rule: RuleExplanation) -> dict[str, str]:
    """How bad it is to each profile that has the rule."""
    named = [profile for profile in PROFILES if profile in ONLY.get(rule.code, (profile,))]
    return {profile: str(PROFILES[profile].get(rule.code, rule.severity)) for profile in named}


def _rule_document(rule: RuleExplanation) -> dict[str, Any]:
    return {**asdict(rule), "guarded": is_guarded(rule.code), "profiles": _severity_levels(rule)}


# What can be put right without asking, shown as a change or written.


def find_fixes(request: ValidateRequest, check_result: ValidationResult) -> Iterator[FixedFile]:
    """Each file that can be put right, before and after, one after the other."""
    from capdisc_indexer.validation.autofix import fix_file

    about = {finding.path for finding in check_result.chosen.findings}
    for file in check_result.files:
        if (request.piped_text or file.path in about) and (
            data := _read_source(request, file)
        ) is not None:
            change = fix_file(file, data, request.profile, request.choice)
            if change.codes:
                yield change


def format_diff(request: ValidateRequest, found: ValidationResult, quiet: bool) -> Iterator[str]:
    """The changes as pieces of a unified diff, what is hidden made visible and keys masked, which
    stderr is told unless quiet, as soon as all of them are known.

    `patch -p1` and `git apply` take it for files with line ends `\\n`. The carriage returns of
    others show as `<U+000D>`, as every character that a terminal would obey, so that only --write
    changes such lines.
    """
    count = 0
    masked_names: list[str] = []
    for fix in find_fixes(request, found):
        count += 1
        name = _display_name(request, fix)
        masks = [mask_keys(fix.before), mask_keys(fix.after)]
        lines = list(_diff_lines(masks[0], masks[1], name))
        if masks != [fix.before, fix.after] and lines != list(
            _diff_lines(fix.before, fix.after, name)
        ):
            masked_names.append(name)
        yield from (f"{console.sanitise(shown_text(line))}\n" for line in lines)
    if count and not quiet:
        console.print_notice(
            f"notice: {console.format_count(count, 'file')} can be put right; to do so, add --write"
        )
        for name in masked_names:
            console.print_notice(
                f"notice: keys are masked in the change of {name}; only --write applies it whole"
            )


def write_fixes(want: ValidateRequest, found: ValidationResult, quiet: bool) -> list[InputError]:
    """Writes each change and says so, unless quiet; what could not be written."""
    from capdisc_indexer.validation.autofix import rewrite_file

    problems = []
    for one in find_fixes(want, found):
        try:
            rewrite_file(one.file, one.after.encode("utf-8"))
        except InputError as problem:
            problems.append(problem)
        else:
            if not quiet:
                console.print_notice(f"fixed {_display_name(want, one)}: {', '.join(one.codes)}")
    return problems


def _read_source(request: ValidateRequest, file: FoundFile) -> bytes | None:
    if request.piped_text:
        return request.piped_text[0]
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    return data if isinstance(data, bytes) else None


def _display_name(request: ValidateRequest, fix: FixedFile) -> str:
    return display_path(
        request.piped_text[1] if request.piped_text else fix.file.path, request.runtime.cwd
    )


def _diff_lines(before: str, after: str, name: str) -> Iterator[str]:
    from difflib import unified_diff

    # What follows a blank in a name is a date to patch, unless a tab stands between the two.
    tail = "\t" if " " in name else ""
    below = f"{name.lstrip('/')}{tail}"
    for line in unified_diff(_split_lines(before), _split_lines(after), f"a/{below}", f"b/{below}"):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _split_lines(text: str) -> list[str]:
    """The lines with their ends; other characters end a line to Python, and to no program that
    reads a diff.
    """
    *lines, tail = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([tail] if tail else [])]


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
        Path | None, option("--output", metavar="FILE", help="Write the result there.")
    ] = None,
    select: Annotated[
        list[str] | None,
        option(metavar="CODES", help="Only these rules; name- means all that begin so."),
    ] = None,
    ignore: Annotated[
        list[str] | None, option(metavar="CODES", help="All but these rules.")
    ] = None,
    strict: Annotated[bool, option("--strict", help="Warnings fail too.")] = False,
    fix: Annotated[
        bool, option("--fix", help="Show what can be put right without asking, as a diff.")
    ] = False,
    write: Annotated[bool, option("--write", help="With --fix: write it.")] = False,
    statistics: Annotated[
        bool, option("--statistics", help="Count the findings of each rule.")
    ] = False,
    stdin_filename: Annotated[
        str,
        option(
            metavar="NAME", help="What the text from stdin is called [SKILL.md or CAPABILITY.yaml]."
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

    Without PATH: the folders that `capdisc index` takes. Exit status 0: nothing is wrong; 1:
    something is; 2: something that was named cannot be checked. Settings: validate.profile,
    validate.select, validate.ignore.

    A comment silences a rule of form for one line: `# capdisc: ignore=name-case` in YAML, and in
    Markdown `<!-- capdisc: ignore=body-long -->` on the line before. Rules that guard the reader
    stay.

    Example: capdisc validate fixtures/catalogs/small
    """
    try:
        if rule or rules or schema:
            return print_schema(schema) if schema else print_rules(rule, json)
        pieces = summary_notices.select_formatter("json" if json else format, statistics)
        check_fix_options(
            write, fix, "-" in map(str, paths or ()), json or format not in ("full", "concise")
        )
        request = parse_request(paths, stdin_filename, profile, select, ignore, quiet)
        check_result, unwritten = run_checks(request), list[InputError]()
        path = summary_notices.resolve_output(target, request, check_result)
        if write:
            unwritten = write_fixes(request, check_result, quiet)
            del check_result  # the findings of a large collection, which are about to be made anew
            check_result = run_checks(request)
        chosen = check_result.chosen
        silenced = len(chosen.unwanted) + len(chosen.commented)
        result = build_report(
            len(check_result.files),
            request.profile,
            chosen.findings,
            silenced,
            check_result.source,
            request.runtime.cwd,
        )
        if fix and not write:
            summary_notices.write_result(format_diff(request, check_result, quiet), path)
        else:
            summary_notices.write_result(pieces(result), path)
    except InputError as problem:
        # Hooks know three answers only, and what cannot be read is not checked.
        console.print_error(problem)
        return ExitCode.USAGE
    if not quiet:
        summary_notices.print_notices(request, check_result, result)
    problems = [*check_result.problems, *unwritten]
    for error in problems:
        console.print_error(error)
    return ExitCode.USAGE if problems else summary_notices.exit_status(result, strict)
