"""What can be put right without asking, shown as a change or written."""

from __future__ import annotations

from collections.abc import Iterator

from capdisc.output import console
from capdisc.validate.report import display_path
from capdisc.validate.validate_request import ValidateRequest
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.readers.file_bytes import read_bytes
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.validation.autofix import FixedFile, fix_file, rewrite_file
from capdisc_indexer.validation.hidden_text import show_invisible as shown_text
from capdisc_indexer.validation.secret_keys import mask_keys
from capdisc_indexer.validation.validate import ValidationResult


def find_fixes(request: ValidateRequest, check_result: ValidationResult) -> Iterator[FixedFile]:
    """Each file that can be put right, before and after, one after the other."""
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
