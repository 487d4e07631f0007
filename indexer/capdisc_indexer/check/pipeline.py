"""Check files and folders: read them, look at what each one holds, then at all of them together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer.check.comments import refused
from capdisc_indexer.check.examine import examine
from capdisc_indexer.check.form import form
from capdisc_indexer.check.guiding import guided
from capdisc_indexer.check.order import ordered
from capdisc_indexer.check.selection import EVERYTHING, Choice, Chosen, chosen
from capdisc_indexer.check.sourcetext import SourceText, readable
from capdisc_indexer.check.together import together
from capdisc_indexer.declarations import fixed_part
from capdisc_indexer.errors import InputError
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.sources import SOURCES
from capdisc_indexer.sources.files import FoundFile
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


def check(
    roots: Sequence[Path],
    profile: str = "spec",
    wanted: Choice = EVERYTHING,
    declared: Sequence[DeclaredSource] = (),
) -> Checked:
    """Everything that is wrong below these folders and files and with declared sources, as bad as it is to the profile.

    The findings of one root come before those of the next, so that checking two roots finds what checking one after
    the other does, in the same order.
    """
    found, problems = _scanned(roots, declared)
    loaded = {file.path: load(file) for file in found.files}
    findings = [*found.findings, *(finding for one in loaded.values() for finding in one.findings)]
    findings += dict.fromkeys(guided(found.guidance)[1])
    if any(root.is_dir() for root in roots):  # of single files nobody knows what else there is
        findings += together([(file, loaded[file.path]) for file in found.files])
    named = (*map(str, roots), *(fixed_part(one.path)[0] for one in declared if not one.within))
    places = [os.path.abspath(root) for root in named]  # noqa: PTH100
    source = SourceText(places)
    kept = chosen(ordered(findings, profile, places), wanted, source)
    return Checked(files=found.files, chosen=kept, source=source, problems=problems)


def load(file: FoundFile) -> Loaded:
    """The file with everything that is wrong with it alone."""
    data = given(file)
    return Loaded(findings=(data,)) if isinstance(data, Finding) else loaded_from(file, data)


def loaded_from(file: FoundFile, data: bytes) -> Loaded:
    """The same for a file with these bytes, which need not be on disk."""
    loaded = examine(file, SOURCES[file.format].load(file, data))
    noted = refused(readable(data), file.path) if b"capdisc:" in data else ()
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
