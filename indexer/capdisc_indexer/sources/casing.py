"""File names in other casings than the format's: read on every system, with a warning."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable

from capdisc_indexer.sources import SOURCES, source_for
from capdisc_indexer.sources.files import FoundFile, printable
from capdisc_indexer.types import Finding, Severity


def misnamed(file: FoundFile) -> tuple[Finding, ...]:
    """A warning where other readers will not recognise the file by its name."""
    name = os.path.basename(file.path)
    expected = SOURCES[file.format].filenames
    if not expected or name == expected[0] or (name in expected and file.format == "catalogue"):
        return ()
    message, hint = f"other readers look for {expected[0]}, not {name}", f"rename it to {expected[0]}"
    return (_warning(file.path, message, hint),)


def twins(names: Iterable[str]) -> dict[str, str]:
    """Each name that differs from another one by case only, with the one that is read in its place.

    >>> twins(["SKILL.md", "skill.md"])
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
    return _warning(path, message, "remove one of the two")


def path_twins(folder: str, names: Iterable[str]) -> tuple[Finding, ...]:
    """A warning for each name that is another one's but for how its letters are encoded: some systems keep only one."""
    first: dict[str, str] = {}
    found = []
    for name in names:
        if not name.isascii() and first.setdefault(unicodedata.normalize("NFC", name), name) != name:
            path, hint = printable(os.path.join(folder, name)), "rename one of the two"
            message = "another folder or file has the same name in another Unicode form"
            found.append(Finding(code="path-twin", severity=Severity.WARNING, message=message, hint=hint, path=path))
    return tuple(found)


def _is_expected(name: str) -> bool:
    source = source_for(name)
    return source is not None and name in source.filenames


def _warning(path: str, message: str, hint: str) -> Finding:
    return Finding(code="misnamed-manifest", severity=Severity.WARNING, message=message, hint=hint, path=path)
