"""Check files and folders: read them, look at what each one holds, then at all of them
together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.config.settings import fixed_part
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import DeclaredSource, Finding, LoadedFile, Severity
from capdisc_indexer.sources import SOURCES, SourceFormat, source_for
from capdisc_indexer.sources.readers.file_bytes import read_input
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.validation.capability_strings import SourceLines, readable_text
from capdisc_indexer.validation.catalogue_rules import CatalogueMember, check_catalogue, members_of
from capdisc_indexer.validation.content_rules import check_content
from capdisc_indexer.validation.file_rules import check_form
from capdisc_indexer.validation.finding_selection import (
    ALL_RULES,
    RuleChoice,
    SelectedFindings,
    select_findings,
)
from capdisc_indexer.validation.markup_rules import load_guidance
from capdisc_indexer.validation.rule_explanations import apply_profile
from capdisc_indexer.validation.suppression_comments import MARK, refused_suppressions

# The order in which findings are told: the same however the files were dealt out to several runs.

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH112, PTH120


def order_findings(
    findings: Iterable[Finding], profile: str, roots: Sequence[str] = ()
) -> tuple[Finding, ...]:
    """The findings as bad as they are to the profile, each once: by root, then by path, line and
    column.

    With the root first, two roots give what one gives after the other.
    """
    rank = _ranks(roots)
    by_place = sorted(findings, key=lambda finding: (rank(finding.path), *_place(finding)))
    # Equal findings now stand together: a dictionary of all of them would take as much again.
    distinct = (
        finding for _, group in groupby(by_place, key=_place) for finding in dict.fromkeys(group)
    )
    return tuple(
        kept_findings for finding in distinct if (kept_findings := apply_profile(finding, profile))
    )


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.path, finding.line, finding.column, finding.code


def _ranks(roots: Sequence[str]) -> Callable[[str], int]:
    """The place of a path: a file that was named has its own, any other one that of the first
    folder around it.
    """
    named = {root: index for index, root in reversed(list(enumerate(roots)))}
    folders = [
        (root if os.path.isdir(root) else os.path.dirname(root)).rstrip("/") + "/" for root in roots
    ]

    def rank(path: str) -> int:
        if path in named:
            return named[path]
        return next(
            (index for index, folder in enumerate(folders) if path.startswith(folder)), len(roots)
        )

    return rank


@frozen(kw_only=True)
class ValidationResult:
    """The files that were looked at, what was found in each (by line and column), and what was
    named but cannot be looked at.
    """

    files: tuple[FoundFile, ...]
    chosen: SelectedFindings
    source: SourceLines
    problems: tuple[InputError, ...] = ()


@frozen(kw_only=True)
class CheckedFile:
    """What is kept of a file once it was looked at: its findings, its capabilities as the rules
    across files need them, and whether it was read and no comment in it can silence a finding.
    """

    findings: tuple[Finding, ...]
    members: tuple[CatalogueMember, ...] = ()
    has_no_comments: bool = False


# How `check_file` is applied to many files, in their order: here, or by several processes.
MapFiles: TypeAlias = Callable[
    [Callable[[FoundFile], CheckedFile], Sequence[FoundFile]], Iterable[CheckedFile]
]


def validate_roots(
    roots: Sequence[Path],
    profile: str = "spec",
    choice: RuleChoice = ALL_RULES,
    declared: Sequence[DeclaredSource] = (),
    map_files: MapFiles = map,
) -> ValidationResult:
    """Everything that is wrong below these folders and files and with declared sources, as bad as
    it is to the profile.

    The findings of one root come before those of the next, so that checking two roots finds what
    checking one after the other does, in the same order. One file is in memory at a time; what
    stays of it is about 1 KB and its findings.
    """
    scan_result, problems = _scan_roots(roots, declared)
    findings, members, uncommented = list(scan_result.findings), list[CatalogueMember](), set[str]()
    share = _Shared()
    for file, checked in zip(
        scan_result.files, map_files(check_file, scan_result.files), strict=True
    ):
        findings += map(share.finding, checked.findings)
        members += map(share.member, checked.members)
        if checked.has_no_comments:
            uncommented.add(share.text(printable_path(file.path)))
    findings += dict.fromkeys(load_guidance(scan_result.guidance)[1])
    if any(root.is_dir() for root in roots):  # of single files nobody knows what else there is
        findings += check_catalogue(members, (file.root for file in scan_result.files))
    named = (
        *map(str, roots),
        *(fixed_part(loaded_file.path)[0] for loaded_file in declared if not loaded_file.within),
    )
    places = [os.path.abspath(root) for root in named]  # noqa: PTH100
    source = SourceLines(places)
    selection = select_findings(
        order_findings(findings, profile, places), choice, source, uncommented
    )
    return ValidationResult(
        files=scan_result.files, chosen=selection, source=source, problems=problems
    )


class _Shared:
    """Gives equal texts of findings and members one place in memory: many files have the same
    thing to say, and what another process sends is new each time.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """The text as it was first met."""
        return self._texts.setdefault(text, text)

    def finding(self, finding: Finding) -> Finding:
        """The same finding."""
        return replace(
            finding,
            code=self.text(finding.code),
            message=self.text(finding.message),
            hint=self.text(finding.hint),
            path=self.text(finding.path),
        )

    def member(self, member: CatalogueMember) -> CatalogueMember:
        """The same capability."""
        return replace(
            member,
            name=self.text(member.name),
            kind=self.text(member.kind),
            category=self.text(member.category),
            path=self.text(member.path),
        )


def check_file(file: FoundFile) -> CheckedFile:
    """What is wrong with the file alone, and what the rules across files need of it."""
    data = read_input(file)
    if isinstance(data, Finding):
        return CheckedFile(findings=(data,))
    loaded = loaded_from(file, data)
    is_plain = SOURCES[file.format].reads and MARK.encode() not in data
    return CheckedFile(
        findings=loaded.findings, members=tuple(members_of(file, loaded)), has_no_comments=is_plain
    )


def loaded_from(file: FoundFile, data: bytes) -> LoadedFile:
    """A file with these bytes, which need not be on disk, with everything that is wrong with it
    alone.
    """
    loaded = check_content(file, SOURCES[file.format].load(file, data), data)
    noted = refused_suppressions(readable_text(data), file.path) if MARK.encode() in data else ()
    return replace(loaded, findings=(*loaded.findings, *check_form(file, loaded), *noted))


def _scan_roots(
    roots: Sequence[Path], declared: Sequence[DeclaredSource]
) -> tuple[ScanResult, tuple[InputError, ...]]:
    """What the roots hold. One that is gone, as a hook may name it, costs no other."""
    try:
        return scan_roots(roots, declared), ()
    except InputError:
        problems = {root: problem for root in roots if (problem := _problem(root))}
        return scan_roots([root for root in roots if root not in problems], declared), tuple(
            problems.values()
        )


def _problem(root: Path) -> InputError | None:
    try:
        scan_roots([root])
    except InputError as error:
        return error
    return None


# One text without a folder, such as an editor pipes through: checked alone, with nothing beside it
# read.

# A place where no file can be, so that no reader of a path finds anything, whatever the text
# names.
EMPTY_FOLDER = "/dev/null/nowhere"
# Nothing is known of what would lie beside the text.
_OF_NEIGHBOURS = frozenset({"link-missing", "path-missing", "vanished"})


def check_text(
    data: bytes, name: str, profile: str = "spec", choice: RuleChoice = ALL_RULES
) -> ValidationResult:
    """What is wrong with a text, as if it stood in a file of that name; an absolute name tells its
    folder too.

    Raises UsageError for a name that no capability file has.
    """
    source = source_for(os.path.basename(name))
    if source is None or not source.reads:
        names = ", ".join(
            filename for source_format in SOURCES.values() for filename in source_format.filenames
        )
        raise UsageError(f"{name} is no name of a capability file", f"one of: {names}")
    file = _file(data, name, source)
    skipped = _OF_NEIGHBOURS if name.startswith("/") else _OF_NEIGHBOURS | {"name-folder-mismatch"}
    raw_findings = (
        _too_large(file, source)
        if len(data) > source.limit_bytes
        else loaded_from(file, data).findings
    )
    findings = [
        replace(finding, path=name) for finding in raw_findings if finding.code not in skipped
    ]
    texts = SourceLines([], {name: readable_text(data)})
    return ValidationResult(
        files=(file,),
        chosen=select_findings(order_findings(findings, profile), choice, texts),
        source=texts,
    )


def default_name(data: bytes) -> str:
    """The name for a text that came without one: a skill begins with a fence."""
    return (
        "SKILL.md" if readable_text(data[:4096]).lstrip().startswith("---") else "CAPABILITY.yaml"
    )


def _file(data: bytes, name: str, source: SourceFormat) -> FoundFile:
    path = f"{EMPTY_FOLDER}/{name.lstrip('/')}"
    return FoundFile(
        path=path, resolved=path, size=len(data), mtime_ns=0, ctime_ns=0, inode=0, relative=name, root=EMPTY_FOLDER,
        root_order=0, format=source.format,
    )  # fmt: skip


def _too_large(file: FoundFile, source: SourceFormat) -> tuple[Finding, ...]:
    message = f"the text is larger than {source.limit_bytes // 1024} KiB"
    hint = "move long parts into files beside it"
    return (
        Finding(
            code="file-too-large",
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            path=file.path,
        ),
    )
