"""The capability files directly in one folder, each with its format and the files that belong to it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding
from capdisc_indexer.sources import SOURCES, SourceFormat, source_for
from capdisc_indexer.sources.readers.file_bytes import read_head
from capdisc_indexer.sources.scan.folder_tree import ScanFolder, is_folder, resolve_link
from capdisc_indexer.sources.scan.path_warnings import find_case_twins, odd_name, twin_warning
from capdisc_indexer.sources.scan.scanned_files import (
    FileStat,
    FoundFile,
    not_a_file,
    printable_path,
    unreadable_finding,
)

# Paths are strings, since they may hold bytes that are not text, and a Path for each of 10,000
# folders takes long.
# ruff: noqa: PTH116, PTH118

# A format is recognised by the begin of a file if its name says little.
HEAD_BYTES = 256
LOOK_BYTES = 4_096
# Files with these endings are opened for that during a scan.
SNIFFED_SUFFIXES = (".json", ".yaml", ".yml", ".db")

_OPENAPI = re.compile(
    rb"""(?:^(?:\xef\xbb\xbf)?|[{,])\s*["']?(?:openapi["']?\s*:\s*["']?3|swagger["']?\s*:\s*["']?2)""",
    re.MULTILINE,
)
_SQLITE = b"SQLite format 3\0"
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_FUNCTIONS = re.compile(rb'"type"\s*:\s*"function"|"input_schema"|"function_?declarations"', re.I)
_TOOLS = re.compile(rb'"tools"\s*:\s*\[|"inputSchema"')


def is_companion(filename: str) -> bool:
    """Whether a file of this name belongs to a manifest beside it."""
    return any(filename.lower() in source.companions for source in SOURCES.values())


def find_files(
    folder: ScanFolder, entries: Sequence[os.DirEntry[str]], allowed: Sequence[str]
) -> tuple[list[FoundFile], list[Finding]]:
    """The capability files among a folder's entries, and findings about entries of such names.

    Links are followed if they lead below one of the real paths `allowed`.
    """
    named = {
        entry.name: source for entry in entries if (source := _recognise_format(folder, entry))
    }
    if not named:
        return [], []
    owned = {name for source in named.values() for name in source.companions}
    twin_findings = find_case_twins(
        name for name, source in named.items() if source.everywhere and name.lower() not in owned
    )
    files: list[FoundFile] = []
    companions: list[FileStat] = []
    companion_findings: list[Finding] = []
    findings = [
        twin_warning(printable_path(os.path.join(folder.path, name)), winner)
        for name, winner in twin_findings.items()
    ]
    relevant = [entry for entry in entries if (entry.name in named or entry.name.lower() in owned)]
    for entry in relevant:
        if entry.name in twin_findings or is_folder(entry):
            continue
        if entry.name in named:
            findings += odd_name(
                folder.relative + entry.name, os.path.join(folder.path, entry.name)
            )
        is_owned = entry.name.lower() in owned
        if status := _status(folder, entry, allowed, companion_findings if is_owned else findings):
            if is_owned:
                companions.append(status)
            else:
                files.append(found_file(folder, entry.name, named[entry.name], status))
    if not files:
        findings += companion_findings
    return [_with_companions(file, companions, companion_findings) for file in files], findings


def _recognise_format(folder: ScanFolder, entry: os.DirEntry[str]) -> SourceFormat | None:
    """The format of an entry by its name or, if many programs use the ending, by its first bytes;
    None for any other.
    """
    if is_folder(entry):
        return None
    if source := source_for(entry.name):
        return source if source.everywhere or not folder.owned else None
    if folder.owned or entry.is_symlink():
        return None
    return by_head(entry.name, os.path.join(folder.resolved, entry.name))


def _with_companions(
    file: FoundFile, neighbours: Sequence[FileStat], companion_findings: Sequence[Finding]
) -> FoundFile:
    names = SOURCES[file.format].companions
    if not names or not (neighbours or companion_findings):
        return file
    companions = tuple(
        status for status in neighbours if os.path.basename(status.path).lower() in names
    )
    return replace(file, companions=companions, lost=tuple(companion_findings))


def found_file(folder: ScanFolder, name: str, source: SourceFormat, status: FileStat) -> FoundFile:
    """A file directly in the folder, to be read in this format."""
    return FoundFile(
        path=status.path,
        resolved=status.resolved,
        size=status.size,
        mtime_ns=status.mtime_ns,
        ctime_ns=status.ctime_ns,
        inode=status.inode,
        relative=folder.relative + name,
        root=folder.root.path,
        root_order=folder.root.order,
        format=source.format,
    )


def _status(
    folder: ScanFolder, entry: os.DirEntry[str], allowed: Sequence[str], findings: list[Finding]
) -> FileStat | None:
    path = os.path.join(folder.path, entry.name)
    resolved = os.path.join(folder.resolved, entry.name)
    if entry.is_symlink():
        followed = resolve_link(resolved, allowed)
        if isinstance(followed, Finding):
            findings.append(replace(followed, path=printable_path(path)))
            return None
        resolved = followed
    status = stat_of(path, resolved)
    if isinstance(status, Finding):
        findings.append(status)
        return None
    return status


def stat_of(path: str, resolved: str) -> FileStat | Finding:
    """The stamps of a regular file, or the finding that says why there is none at `resolved`."""
    try:
        status = os.stat(resolved, follow_symlinks=False)
    except OSError as error:
        return unreadable_finding(path, error)
    if not stat.S_ISREG(status.st_mode):
        return not_a_file(path)
    return FileStat(
        path=path,
        resolved=resolved,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
    )


def by_head(name: str, path: str) -> SourceFormat | None:
    """The format of a file by its first bytes, if it is an API description or a database; None for
    any other.
    """
    if not name.lower().endswith(SNIFFED_SUFFIXES):
        return None
    return _of_head(read_head(path, HEAD_BYTES))


def by_look(path: str) -> SourceFormat | None:
    """The format of a file that its user named, by its first bytes, which may also be those of a
    list of tools or functions.
    """
    head = read_head(path, LOOK_BYTES)
    if (source := _of_head(head)) or not _JSON.match(head):
        return source
    if _FUNCTIONS.search(head):
        return SOURCES["functions"]
    return SOURCES["mcp"] if _TOOLS.search(head) else None


def _of_head(head: bytes) -> SourceFormat | None:
    if head.startswith(_SQLITE):
        return SOURCES["sqlite"]
    return SOURCES["openapi"] if _OPENAPI.search(head) else None
