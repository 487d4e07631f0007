"""Warnings about the names of capability files: casings that other readers do not find, names that
differ only by case or Unicode form, and characters with a meaning to shells or other systems.

Files of every casing are read on every system.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources import SOURCES, source_for
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS

# Paths are strings, since they may hold bytes that are not text.
# ruff: noqa: PTH118

# Part by part: characters of shells, Windows and options, blanks at the ends, names of devices.
_ODD = re.compile(
    r"[\x00-\x1f\x7f<>:\"|?*\\$`;&%!{}]|(?:^|/)[-~ ]|[ .](?:/|$)|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)",
    re.IGNORECASE,
)


def casing_findings(file: FoundFile) -> tuple[Finding, ...]:
    """A warning if other readers do not recognise the file by its name."""
    name = os.path.basename(file.path)
    expected = SOURCES[file.format].filenames
    if not expected or name == expected[0] or (name in expected and file.format == "catalogue"):
        return ()
    message = f"other readers look for {expected[0]}, not {name}"
    return (_name_warning(file.path, message, f"rename it to {expected[0]}"),)


def find_case_twins(names: Iterable[str]) -> dict[str, str]:
    """Each name that differs from another one by case only, with the one that is read instead.

    >>> find_case_twins(["SKILL.md", "skill.md"])
    {'skill.md': 'SKILL.md'}
    """
    chosen: dict[str, str] = {}
    ordered = sorted(names, key=lambda name: (not _is_expected(name), name))
    for name in ordered:
        chosen.setdefault(name.lower(), name)
    return {name: chosen[name.lower()] for name in ordered if chosen[name.lower()] != name}


def twin_warning(path: str, winner: str) -> Finding:
    """The finding for a file that is not read because of its twin."""
    message = f"{os.path.basename(path)} is not read, since {winner} stands beside it"
    return _name_warning(path, message, "remove one of the two")


def path_twins(folder: str, names: Iterable[str]) -> tuple[Finding, ...]:
    """A warning for each name that differs from another one by its Unicode form only: some systems
    keep only one of them.
    """
    by_normal_form: dict[str, str] = {}
    findings = []
    for name in names:
        if name.isascii():
            continue
        if by_normal_form.setdefault(unicodedata.normalize("NFC", name), name) != name:
            findings.append(
                Finding(
                    code="path-twin",
                    severity=Severity.WARNING,
                    message="another folder or file has the same name in another Unicode form",
                    hint="rename one of the two",
                    path=printable_path(os.path.join(folder, name)),
                )
            )
    return tuple(findings)


def _is_expected(name: str) -> bool:
    source = source_for(name)
    return source is not None and name in source.filenames


def _name_warning(path: str, message: str, hint: str) -> Finding:
    return Finding(
        code="misnamed-manifest", severity=Severity.WARNING, message=message, hint=hint, path=path
    )


def odd_name(relative: str, path: str) -> Iterator[Finding]:
    """A warning about the file at `path` if its path below the root has a character with a meaning
    elsewhere.
    """
    if relative.isascii() and not _ODD.search(relative):
        return
    shown = printable_path(relative)
    if oddity := _oddity(relative, shown):
        yield Finding(
            code="path-character",
            severity=Severity.WARNING,
            message=f"the path {shown[:200]!r} {oddity}",
            hint="rename the folder",
            path=printable_path(path),
        )


def _oddity(relative: str, shown: str) -> str:
    if shown != relative:
        return "is not UTF-8"
    if UNSAFE_CHARACTERS.search(relative) or "\n" in relative or "\t" in relative:
        return "holds control or hidden characters"
    if _ODD.search(relative):
        return "holds characters with a meaning to shells or other systems"
    return ""
