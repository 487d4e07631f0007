"""Checks the folder of a capability: where the links of a skill lead, how many files it has,
and which of them nobody can read.

Paths are plain text here: they may hold bytes that are not text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Finding
from capdisc_indexer.platforms import system
from capdisc_indexer.sources.format_table import manifest_for
from capdisc_indexer.sources.formats.parsed_capability import ParsedCapability
from capdisc_indexer.sources.scan.folder_tree import SKIPPED_FOLDERS, is_inside
from capdisc_indexer.sources.scan.scanned_files import FoundFile, printable_path
from capdisc_indexer.text.markdown import MarkdownLink, find_links
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.validation.capability_strings import FILE_START, finding_at

# ruff: noqa: PTH120, PTH122

MANY_LINKS = 200
_MAX_MISSING = 5  # findings for one file

_SCHEME = compile_late(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_OUTSIDE = compile_late(r"file:|/|~|[A-Za-z]:[\\/]|\\\\", re.IGNORECASE)
# Stands for several files, or for one that the reader fills in.
_PATTERN = compile_late(r"[*{}<>$|]")

MANY_FILES = 1_000
MAX_LEVELS = 8

# Files that a reader of text cannot see into; bytecode, archives and documents that are archives
# have carried payloads past scanners.
OPAQUE_SUFFIXES = frozenset(
    ".7z .a .apk .bin .bz2 .class .com .dll .dmg .docm .docx .dotx .dylib .epub .exe .gz .iso .jar .lib .msi .o .obj "
    ".odp .ods .odt .pkg .potx .pptm .pptx .pyc .pyd .pyo .rar .scr .so .tar .tgz .wasm .whl .xlsb .xlsm .xlsx .xltx "
    ".xz .zip .zst".split()
)
# How such files begin, whatever they are called: ELF, Mach-O, Java, archives, WebAssembly,
# Android, old Office files.
_BEGINNINGS = (
    b"\x7fELF", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe",
    b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd", b"!<arch>\n", b"\0asm", b"dex\n", b"\x1bLua", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
)  # fmt: skip
_HEADER_BYTES = 64
# A scan for manifests skips it, but interpreters load what is in it.
_BYTECODE_FOLDER = "__pycache__"


def check_links(part: ParsedCapability, file: FoundFile) -> Iterator[Finding]:
    """Findings for links that leave the folder, or lead to a file that is not there. Reads no
    file.
    """
    folder = os.path.dirname(file.resolved)
    for body in part.longs:
        if "](" in body.value or "]:" in body.value:
            for link, code, message, hint in _link_problems(list(find_links(body.value)), folder):
                place = replace(link, line=body.line + link.line - 1)
                yield finding_at(body if body.in_place else place, body.path, code, message, hint)


def _link_problems(
    links: Sequence[MarkdownLink], folder: str
) -> Iterator[tuple[MarkdownLink, str, str, str]]:
    """The link, code, message and hint of each problem."""
    if len(links) > MANY_LINKS:
        message = f"{len(links):,} links; an agent that follows them reads without end"
        yield links[0], "too-many-links", message, "link what is needed"
    local = [link for link in links if _OUTSIDE.match(link.target) or _is_relative(link.target)]
    for link in [link for link in local if _leaves_folder(link.target, folder)][:1]:
        message = "a link leads out of the skill's own folder"
        yield link, "path-escape", message, "copy what is needed into the folder of SKILL.md"
    missing = [link for link in local[:MANY_LINKS] if _is_missing(link.target, folder)]
    for link in missing[:_MAX_MISSING]:
        message = f"a link leads to {link.target[:100]}, which is not there"
        yield link, "link-missing", message, "correct the link, or add the file"


def _is_relative(target: str) -> bool:
    return (
        bool(target)
        and target[0] not in "#$"
        and not _SCHEME.match(target)
        and not _PATTERN.search(target)
    )


def _file_part(target: str) -> str:
    """The file's part of a target, without a fragment and a query."""
    return target.partition("#")[0].partition("?")[0]


def _target_path(target: str, folder: str) -> str:
    name = _file_part(target)
    if "%" in name:
        from urllib.parse import unquote  # 4 ms, and few links need it

        name = unquote(name)
    return system.normpath(system.join(folder, name))


def _leaves_folder(target: str, folder: str) -> bool:
    if _OUTSIDE.match(target) or "\\" in target or "%2e" in target.lower():
        return True
    return not is_inside(_target_path(target, folder), [folder])


def _is_missing(target: str, folder: str) -> bool:
    looks_like_file = "." in os.path.basename(_file_part(target))
    if not looks_like_file or _leaves_folder(target, folder):
        return False
    place = system.realpath(_target_path(target, folder))
    # No finding may tell whether something outside the folder exists.
    return is_inside(place, [folder]) and not os.path.lexists(place)


def check_layout(file: FoundFile) -> Iterator[Finding]:
    """Findings for a folder with very many files, or with files that are not text."""
    path = printable_path(file.path)
    count, opaque = _folder_contents(os.path.dirname(file.resolved))
    if count > MANY_FILES:
        message = f"more than {MANY_FILES:,} files lie in its folder"
        hint = "keep what it reads, and leave the rest out"
        yield finding_at(FILE_START, path, "too-many-files", message, hint)
    if opaque:
        names = ", ".join(printable_path(name) for name in opaque[:3])
        message = f"{len(opaque):,} files that cannot be read as text: {names}"
        yield finding_at(FILE_START, path, "binary-file", message, "ship the sources instead")


def _folder_contents(top: str) -> tuple[int, list[str]]:
    """How many files one capability's folder has, without other capabilities below it, and the
    names of those that are not text. No folder is read once there are more than MANY_FILES.
    """
    count = 0
    opaque: list[str] = []
    pending = [(top, 0)]
    while pending and count <= MANY_FILES:
        folder, level = pending.pop()
        for entry in _folder_entries(folder):
            if system.is_folder(entry):
                is_walked = entry.name not in SKIPPED_FOLDERS or entry.name == _BYTECODE_FOLDER
                if level < MAX_LEVELS and is_walked and not _holds_capability(entry.path):
                    pending.append((entry.path, level + 1))
            elif entry.is_file(follow_symlinks=False):
                count += 1
                suffix = os.path.splitext(entry.name)[1].lower()
                if suffix in OPAQUE_SUFFIXES or _begins_opaque(entry.path):
                    opaque.append(entry.name)
    return count, sorted(opaque)


def _begins_opaque(path: str) -> bool:
    """Whether the first bytes are those of a program or an archive; False for a file that cannot
    be opened.
    """
    try:
        handle = system.open_file(path)
        try:
            header = os.read(handle, _HEADER_BYTES)
        finally:
            os.close(handle)
    except OSError:
        return False
    is_bytecode = header[2:4] == b"\r\n" and b"\0" in header[:16]
    return (
        header.startswith(_BEGINNINGS)
        or is_bytecode
        or (header.startswith(b"MZ") and b"\0" in header)
    )


def _folder_entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # the scan has a finding for it


def _holds_capability(folder: str) -> bool:
    return any(
        manifest_for(entry.name)
        for entry in _folder_entries(folder)
        if entry.is_file(follow_symlinks=False)
    )
