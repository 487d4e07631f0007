"""Validates folders, files and single texts: reads them, checks each file, then all of them
together.

Paths are plain text here: they may hold bytes that are not text.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from sys import intern
from typing import TypeAlias, TypeVar

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.model.errors import ENDING_ERRORS, InputError, PluginError, UsageError
from capdisc_indexer.model.frozen import fields, frozen, replace
from capdisc_indexer.model.types import DeclaredSource, Finding, LinkRules, LoadedFile, Severity
from capdisc_indexer.platforms import system
from capdisc_indexer.plugins.registry import load_attribute, load_plugins
from capdisc_indexer.sources.format_table import SOURCES, source_for
from capdisc_indexer.sources.readers.file_bytes import read_input
from capdisc_indexer.sources.scan.file_scan import NO_RULES, ScanResult, scan_roots
from capdisc_indexer.sources.scan.scanned_files import (
    INTERNAL,
    FoundFile,
    internal_finding,
    printable_path,
)
from capdisc_indexer.validation.capability_strings import (
    FILE_START,
    CatalogueMember,
    SourceLines,
    finding_at,
    members_of,
    readable_text,
)
from capdisc_indexer.validation.catalogue_rules import check_catalogue
from capdisc_indexer.validation.content_rules import check_content, load_guidance
from capdisc_indexer.validation.file_rules import check_form
from capdisc_indexer.validation.finding_selection import (
    ALL_RULES,
    MARK,
    RuleChoice,
    SelectedFindings,
    refused_suppressions,
    select_findings,
)
from capdisc_indexer.validation.rules import apply_profile
from capdisc_indexer.validation.skill_rules import EMPTY_FOLDER

# ruff: noqa: PTH112, PTH120


@frozen(kw_only=True)
class ValidationResult:
    """The files that were checked, the chosen findings, the lines that they are about, and the
    roots that cannot be read.
    """

    files: tuple[FoundFile, ...]
    chosen: SelectedFindings
    source: SourceLines
    problems: tuple[InputError, ...] = ()


@frozen(kw_only=True)
class CheckedFile:
    """What is kept of a file after its check: its findings, its capabilities as the rules across
    files need them, and whether it certainly holds no comment that silences a finding.
    """

    findings: tuple[Finding, ...]
    members: tuple[CatalogueMember, ...] = ()
    has_no_comments: bool = False


_Value = TypeVar("_Value", Finding, CatalogueMember)
# Fields of findings and members whose texts files repeat.
_SHARED_FIELDS = ("code", "message", "hint", "path", "name", "kind", "category")
# Applies `check_file` to many files, in their order: in this process, or in several.
MapFiles: TypeAlias = Callable[
    [Callable[[FoundFile], CheckedFile], Sequence[FoundFile]], Iterable[CheckedFile]
]


def validate_roots(
    roots: Sequence[Path],
    profile: str = "spec",
    choice: RuleChoice = ALL_RULES,
    declared: Sequence[DeclaredSource] = (),
    map_files: MapFiles = map,
    links: LinkRules = NO_RULES,
) -> ValidationResult:
    """All findings about these folders, files and declared sources, with the severities of the
    profile.

    The findings of one root come before those of the next, so that checking two roots finds what
    checking one after the other does, in the same order. One file is in memory at a time; about
    1 KB of it stays, and its findings.
    """
    scan_result, problems = _scan_roots(roots, declared, links)
    findings, members, uncommented = (
        list(scan_result.findings),
        list[CatalogueMember](),
        set[str](),
    )
    for file, checked in zip(
        scan_result.files, map_files(check_file, scan_result.files), strict=True
    ):
        findings += map(_share_texts, checked.findings)
        members += map(_share_texts, checked.members)
        if checked.has_no_comments:
            uncommented.add(intern(printable_path(file.path)))
    findings += dict.fromkeys(load_guidance(scan_result.guidance)[1])
    if any(root.is_dir() for root in roots):  # single files may be a part of any collection
        findings += check_catalogue(members, (file.root for file in scan_result.files))
    named = (
        *map(Path.as_posix, roots),
        *(fixed_part(source.path)[0] for source in declared if not source.within),
    )
    places = [system.abspath(root) for root in named]
    lines = SourceLines(places)
    selection = select_findings(
        order_findings(findings, profile, places), choice, lines, uncommented
    )
    return ValidationResult(
        files=scan_result.files, chosen=selection, source=lines, problems=problems
    )


def _share_texts(value: _Value) -> _Value:
    """An equal value of which equal texts are stored once: many files repeat them, and what
    another process sends is a new copy each time.
    """
    texts = {name: getattr(value, name) for name in fields(value) if name in _SHARED_FIELDS}
    return replace(value, **{name: intern(str(text)) for name, text in texts.items()})


def check_file(file: FoundFile, data: bytes | None = None) -> CheckedFile:
    """The findings about the file alone, and what the rules across files need of it; where capdisc
    itself fails on it, the finding that says so. `data` are its bytes, None if they are on disk.
    """
    try:
        content = read_input(file) if data is None else data
        if isinstance(content, Finding):
            return CheckedFile(findings=(content,))
        loaded = loaded_from(file, content)
        return CheckedFile(
            findings=loaded.findings,
            members=tuple(members_of(file, loaded)),
            has_no_comments=SOURCES[file.format].reads and MARK.encode() not in content,
        )
    except ENDING_ERRORS:
        raise
    except BaseException as error:
        return CheckedFile(findings=(internal_finding(file.path, error),))


def loaded_from(file: FoundFile, data: bytes) -> LoadedFile:
    """A file with these bytes, which need not be on disk, with all findings about it alone."""
    loaded = check_content(file, SOURCES[file.format].load(file, data), data)
    refused = refused_suppressions(readable_text(data), file.path) if MARK.encode() in data else ()
    added = _run_plugin_checks(file, loaded)
    return replace(
        loaded, findings=(*loaded.findings, *check_form(file, loaded), *added, *refused)
    )


def _run_plugin_checks(file: FoundFile, loaded: LoadedFile) -> Iterator[Finding]:
    """The findings of the checks of plug-ins about each capability of the file. Of a check that
    raises, or has a finding that its plug-in does not explain, the finding that says so.
    """
    path = printable_path(file.path)
    for plugin in load_plugins():
        codes = {rule.code for rule in plugin.rules}
        for reference in plugin.checks:
            try:
                check = load_attribute(reference)
                findings = [
                    finding
                    for descriptor in loaded.descriptors
                    for finding in check(descriptor, path)
                ]
                if unknown := sorted({finding.code for finding in findings} - codes):
                    raise PluginError(f"no rule {unknown[0]}")
                yield from findings
            except Exception as error:  # the code of others, which may raise anything
                why = error.message if isinstance(error, PluginError) else type(error).__name__
                message = f"the check {reference} of the plug-in {plugin.name!r} fails: {why}"
                hint = f"report it to the authors of {plugin.name}"
                yield finding_at(FILE_START, path, INTERNAL, message, hint, Severity.ERROR)


def _scan_roots(
    roots: Sequence[Path], declared: Sequence[DeclaredSource], links: LinkRules
) -> tuple[ScanResult, tuple[InputError, ...]]:
    """The files below the roots, and an error for each root that is gone; a hook may name one."""
    try:
        return scan_roots(roots, declared, links=links), ()
    except InputError:
        problems = {
            root: problem for root in roots if (problem := _scan_problem(root, declared, links))
        }
        sound_roots = [root for root in roots if root not in problems]
        return scan_roots(sound_roots, declared, links=links), tuple(problems.values())


def _scan_problem(
    root: Path, declared: Sequence[DeclaredSource], links: LinkRules
) -> InputError | None:
    try:
        scan_roots([root], [source for source in declared if source.is_conventional], links=links)
    except InputError as error:
        return error
    return None


def order_findings(
    findings: Iterable[Finding], profile: str, roots: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """The distinct findings with the severities of the profile, by root, path, line and column:
    the same order however the files were dealt out to several runs.

    With the root first, two roots give what one gives after the other.
    """
    rank = _root_ranks(roots)
    by_place = sorted(findings, key=lambda finding: (rank(finding.path), *_place(finding)))
    # Equal findings now stand together: a dictionary of all of them would take as much again.
    distinct = (
        finding for _, group in groupby(by_place, key=_place) for finding in dict.fromkeys(group)
    )
    profiled = (apply_profile(finding, profile) for finding in distinct)
    return tuple(finding for finding in profiled if finding)


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.path, finding.line, finding.column, finding.code


def _root_ranks(roots: Sequence[str]) -> Callable[[str], int]:
    """Gives a path the number of its root: a named file has its own, any other file that of the
    first folder around it.
    """
    named = {root: index for index, root in reversed(list(enumerate(roots)))}
    folders = [
        (root if os.path.isdir(root) else os.path.dirname(root)).rstrip("/") + "/"
        for root in roots
    ]

    def rank(path: str) -> int:
        if path in named:
            return named[path]
        return next(
            (index for index, folder in enumerate(folders) if path.startswith(folder)), len(roots)
        )

    return rank


# Rules about files next to the text, which are not known.
_NEIGHBOUR_CODES = frozenset({"link-missing", "path-missing", "vanished"})


def check_text(
    data: bytes, name: str, profile: str = "spec", choice: RuleChoice = ALL_RULES
) -> ValidationResult:
    """The findings about a text as if it stood in a file of that name; an absolute name gives its
    folder too.

    Raises UsageError for a name that no capability file has.
    """
    source_format = source_for(os.path.basename(name))
    if source_format is None or not source_format.reads:
        names = ", ".join(
            filename for declared in SOURCES.values() for filename in declared.filenames
        )
        raise UsageError(f"{name} is not the name of a capability file", f"one of: {names}")
    path = f"{EMPTY_FOLDER}/{name.lstrip('/')}"
    file = FoundFile(
        path=path, resolved=path, size=len(data), mtime_ns=0, ctime_ns=0, inode=0, relative=name, root=EMPTY_FOLDER,
        root_order=0, format=source_format.format,
    )  # fmt: skip
    skipped = (
        _NEIGHBOUR_CODES if name.startswith("/") else _NEIGHBOUR_CODES | {"name-folder-mismatch"}
    )
    findings: Sequence[Finding]
    if len(data) > source_format.limit_bytes:
        message = f"the text is larger than {source_format.limit_bytes // 1024:,} KiB"
        hint = "move long parts into files of their own"
        findings = [finding_at(FILE_START, path, "file-too-large", message, hint, Severity.ERROR)]
    else:
        findings = check_file(file, data).findings
    shown = [replace(finding, path=name) for finding in findings if finding.code not in skipped]
    lines = SourceLines([], {name: readable_text(data)})
    return ValidationResult(
        files=(file,),
        chosen=select_findings(order_findings(shown, profile), choice, lines),
        source=lines,
    )


def default_name(data: bytes) -> str:
    """A file name for a text without one: a skill's if it begins with `---`, else a manifest's."""
    return (
        "SKILL.md" if readable_text(data[:4096]).lstrip().startswith("---") else "CAPABILITY.yaml"
    )
