"""The folder of a skill: what lies in it, and where the links of its text lead."""

# Paths are plain text here: they may hold bytes that are no text.
# ruff: noqa: PTH120, PTH122

from __future__ import annotations

import os
from collections.abc import Iterator

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources import manifest_for
from capdisc_indexer.sources.files import FoundFile, printable
from capdisc_indexer.sources.scan import SKIPPED
from capdisc_indexer.types import Finding, Severity

MANY_FILES = 1_000
MAX_LEVELS = 8

# What a reader of text cannot see into; bytecode and archives have carried payloads past scanners.
OPAQUE = frozenset(
    ".7z .a .apk .bin .bz2 .class .com .dll .dmg .docm .dylib .exe .gz .iso .jar .lib .msi .o .obj .pkg .pyc .pyd .pyo "
    ".rar .scr .so .tar .tgz .wasm .whl .xlsm .xz .zip .zst".split()
)


@frozen
class Content:
    """The files of one capability's folder, other capabilities below it left out; at most MANY_FILES + 1 of them."""

    files: tuple[str, ...]
    opaque: tuple[str, ...]


def layout_rules(file: FoundFile) -> Iterator[Finding]:
    """What is odd about the files beside a skill."""
    found = _content(os.path.dirname(file.resolved))
    if len(found.files) > MANY_FILES:
        message = f"more than {MANY_FILES:,} files lie beside it"
        yield _finding(file, "too-many-files", message, "keep what the skill reads, and leave the rest out")
    if found.opaque:
        names = ", ".join(printable(name) for name in found.opaque[:3])
        message = f"{len(found.opaque)} files that cannot be read as text: {names}"
        yield _finding(file, "binary-file", message, "ship the sources instead")


def _content(top: str) -> Content:
    files: list[str] = []
    opaque: list[str] = []
    pending = [(top, 0)]
    while pending and len(files) <= MANY_FILES:
        folder, level = pending.pop()
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if level < MAX_LEVELS and entry.name not in SKIPPED and not _is_capability(entry.path):
                    pending.append((entry.path, level + 1))
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
                if os.path.splitext(entry.name)[1].lower() in OPAQUE:
                    opaque.append(entry.name)
    return Content(tuple(files), tuple(sorted(opaque)))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # which the scan has said


def _is_capability(folder: str) -> bool:
    return any(manifest_for(entry.name) for entry in _entries(folder) if entry.is_file(follow_symlinks=False))


def _finding(file: FoundFile, code: str, message: str, hint: str) -> Finding:
    return Finding(code=code, severity=Severity.WARNING, message=message, hint=hint, path=printable(file.path))
