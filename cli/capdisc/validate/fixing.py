"""What `validate --fix` prints as a diff, and `--write` writes into the files."""

from __future__ import annotations

from collections.abc import Iterator

import capdisc_guard
from capdisc.output import console
from capdisc.validate.check_request import ValidateRequest
from capdisc.validate.finding_formats import display_path
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.sources.format_table import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation.fixes import FIXES, FixedFile, fix_file, rewrite_file
from capdisc_indexer.validation.validate import ValidationResult


def find_fixes(request: ValidateRequest, check_result: ValidationResult) -> Iterator[FixedFile]:
    """The files that can be put right, each before and after."""
    paths_with_findings = {finding.path for finding in check_result.chosen.findings}
    for file in check_result.files:
        if not request.piped_text and file.path not in paths_with_findings:
            continue
        data = _read_source(request, file)
        if data is None:
            continue
        fixed = fix_file(file, data, request.profile, request.choice)
        if fixed.codes:
            yield fixed


def format_diff(
    request: ValidateRequest, check_result: ValidationResult, quiet: bool
) -> Iterator[str]:
    """The pieces of a unified diff, with hidden characters made visible and keys masked. Unless
    `quiet`, notices follow on stderr once all changes are known.

    `patch -p1` and `git apply` accept it for files with line ends `\\n`. The carriage returns of
    others show as `<U+000D>`, as every character that a terminal would obey, so that only --write
    changes such lines.
    """
    count = 0
    masked_names: list[str] = []
    for fixed in find_fixes(request, check_result):
        count += 1
        name = _display_name(request, fixed)
        before, after = capdisc_guard.mask_keys(fixed.before), capdisc_guard.mask_keys(fixed.after)
        lines = list(_diff_lines(before, after, name))
        is_masked = (before, after) != (fixed.before, fixed.after)
        if is_masked and lines != list(_diff_lines(fixed.before, fixed.after, name)):
            masked_names.append(name)
        yield from (f"{console.sanitise(capdisc_guard.show_invisible(line))}\n" for line in lines)
    if not quiet:
        console.print_notice(
            f"notice: {console.format_count(count, 'file')} can be put right; to do so, add --write"
            if count
            else _nothing_to_fix(check_result)
        )
        for name in masked_names:
            console.print_notice(
                f"notice: keys are masked in the change of {name}; only --write applies it whole"
            )


def write_fixes(
    request: ValidateRequest, check_result: ValidationResult, quiet: bool
) -> list[InputError]:
    """Write each fixed file, and name it on stderr unless `quiet`, as well as that there was none.
    Returns the errors of files that could not be written.
    """
    errors = []
    has_fixes = False
    for fixed in find_fixes(request, check_result):
        has_fixes = True
        try:
            rewrite_file(fixed.file, fixed.after.encode("utf-8"))
        except InputError as error:
            errors.append(error)
        else:
            if not quiet:
                name = _display_name(request, fixed)
                console.print_notice(f"fixed {name}: {', '.join(fixed.codes)}")
    if not (has_fixes or quiet):
        console.print_notice(_nothing_to_fix(check_result))
    return errors


def _nothing_to_fix(check_result: ValidationResult) -> str:
    """The notice that no file was changed or would be, and why."""
    findings = check_result.chosen.findings
    if not findings:
        return "notice: there is nothing to put right"
    codes = {finding.code for finding in findings}
    fixable = sorted(code for code in codes if code in FIXES)
    if fixable:
        names = console.format_names(fixable)
        return f"notice: nothing was changed: {names} cannot be put right here without a change of meaning"
    return "notice: nothing was changed: these findings, which --fix does not print, need a person; --rules marks what it can do"


def _read_source(request: ValidateRequest, file: FoundFile) -> bytes | None:
    if request.piped_text:
        return request.piped_text[0]
    data = read_bytes(file, SOURCES[file.format].limit_bytes)
    return data if isinstance(data, bytes) else None


def _display_name(request: ValidateRequest, fixed: FixedFile) -> str:
    path = request.piped_text[1] if request.piped_text else fixed.file.path
    return display_path(path, request.runtime.cwd)


def _diff_lines(before: str, after: str, name: str) -> Iterator[str]:
    from difflib import unified_diff

    # `patch` reads what follows a blank in a name as a date, unless the name ends with a tab.
    tail = "\t" if " " in name else ""
    label = f"{name.lstrip('/')}{tail}"
    for line in unified_diff(
        _split_lines(before), _split_lines(after), f"a/{label}", f"b/{label}"
    ):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _split_lines(text: str) -> list[str]:
    """The lines with their ends, which are `\\n` alone: `str.splitlines` knows more line ends
    than programs that read a diff.
    """
    *lines, tail = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([tail] if tail else [])]
