"""Check files and folders: read them, look at what each one holds, then at all of them together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from capdisc_indexer.check.comments import MARK, refused
from capdisc_indexer.check.examine import examine
from capdisc_indexer.check.form import form
from capdisc_indexer.check.guiding import guided
from capdisc_indexer.check.members import Member, members_of
from capdisc_indexer.check.order import ordered
from capdisc_indexer.check.selection import EVERYTHING, Choice, Chosen, chosen
from capdisc_indexer.check.sourcetext import SourceText, readable
from capdisc_indexer.check.together import together
from capdisc_indexer.declarations import fixed_part
from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile, printable
from capdisc_indexer.sources.given import given
from capdisc_indexer.sources.scan import ScanResult, scan
from capdisc_indexer.types import DeclaredSource, Finding, Loaded


@frozen(kw_only=True)
class Checked:
    """The files that were looked at, what was found in each (by line and column), and what was named but cannot be
    looked at."""

    files: tuple[FoundFile, ...]
    chosen: Chosen
    source: SourceText
    problems: tuple[InputError, ...] = ()


@frozen(kw_only=True)
class CheckedFile:
    """What is kept of a file once it was looked at: its findings, its capabilities as the rules across files need them,
    and whether it was read and no comment in it can silence a finding."""

    findings: tuple[Finding, ...]
    members: tuple[Member, ...] = ()
    has_no_comments: bool = False


# How `check_file` is applied to many files, in their order: here, or by several processes.
MapFiles: TypeAlias = Callable[[Callable[[FoundFile], CheckedFile], Sequence[FoundFile]], Iterable[CheckedFile]]


def check(
    roots: Sequence[Path],
    profile: str = "spec",
    wanted: Choice = EVERYTHING,
    declared: Sequence[DeclaredSource] = (),
    map_files: MapFiles = map,
) -> Checked:
    """Everything that is wrong below these folders and files and with declared sources, as bad as it is to the profile.

    The findings of one root come before those of the next, so that checking two roots finds what checking one after
    the other does, in the same order. One file is in memory at a time; what stays of it is about 1 KB and its findings.
    """
    found, problems = _scanned(roots, declared)
    findings, members, uncommented = list(found.findings), list[Member](), set[str]()
    share = _Shared()
    for file, checked in zip(found.files, map_files(check_file, found.files), strict=True):
        findings += map(share.finding, checked.findings)
        members += map(share.member, checked.members)
        if checked.has_no_comments:
            uncommented.add(share.text(printable(file.path)))
    findings += dict.fromkeys(guided(found.guidance)[1])
    if any(root.is_dir() for root in roots):  # of single files nobody knows what else there is
        findings += together(members, (file.root for file in found.files))
    named = (*map(str, roots), *(fixed_part(one.path)[0] for one in declared if not one.within))
    places = [os.path.abspath(root) for root in named]  # noqa: PTH100
    source = SourceText(places)
    kept = chosen(ordered(findings, profile, places), wanted, source, uncommented)
    return Checked(files=found.files, chosen=kept, source=source, problems=problems)


class _Shared:
    """Gives equal texts of findings and members one place in memory: many files have the same thing to say, and what
    another process sends is new each time."""

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

    def member(self, member: Member) -> Member:
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
    data = given(file)
    if isinstance(data, Finding):
        return CheckedFile(findings=(data,))
    loaded = loaded_from(file, data)
    is_plain = SOURCES[file.format].reads and MARK.encode() not in data
    return CheckedFile(findings=loaded.findings, members=tuple(members_of(file, loaded)), has_no_comments=is_plain)


def loaded_from(file: FoundFile, data: bytes) -> Loaded:
    """A file with these bytes, which need not be on disk, with everything that is wrong with it alone."""
    loaded = examine(file, SOURCES[file.format].load(file, data), data)
    noted = refused(readable(data), file.path) if MARK.encode() in data else ()
    return replace(loaded, findings=(*loaded.findings, *form(file, loaded), *noted))


def _scanned(roots: Sequence[Path], declared: Sequence[DeclaredSource]) -> tuple[ScanResult, tuple[InputError, ...]]:
    """What the roots hold. One that is gone, as a hook may name it, costs no other."""
    try:
        return scan(roots, declared), ()
    except InputError:
        problems = {root: problem for root in roots if (problem := _problem(root))}
        return scan([root for root in roots if root not in problems], declared), tuple(problems.values())


def _problem(root: Path) -> InputError | None:
    try:
        scan([root])
    except InputError as error:
        return error
    return None
