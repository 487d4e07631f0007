"""The folder of a capability: how many files lie in it, and which of them nobody can read."""

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

# What a reader of text cannot see into; bytecode, archives and documents that are archives have carried payloads past
# scanners.
OPAQUE = frozenset(
    ".7z .a .apk .bin .bz2 .class .com .dll .dmg .docm .docx .dotx .dylib .epub .exe .gz .iso .jar .lib .msi .o .obj "
    ".odp .ods .odt .pkg .potx .pptm .pptx .pyc .pyd .pyo .rar .scr .so .tar .tgz .wasm .whl .xlsb .xlsm .xlsx .xltx "
    ".xz .zip .zst".split()
)
# How such files begin, whatever they are called: ELF, Mach-O, Java, archives, WebAssembly, Android, old Office files.
_BEGINNINGS = (
    b"\x7fELF", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe",
    b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07",
    b"\x28\xb5\x2f\xfd", b"!<arch>\n", b"\0asm", b"dex\n", b"\x1bLua", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
)  # fmt: skip
_HEADER_BYTES = 64
# Skipped by a scan for manifests, but part of what an interpreter loads.
_BYTECODE_FOLDER = "__pycache__"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@frozen
class Content:
    """The files of one capability's folder, other capabilities below it left out; at most MANY_FILES + 1 of them."""

    files: tuple[str, ...]
    opaque: tuple[str, ...]


def layout_rules(file: FoundFile) -> Iterator[Finding]:
    """What is odd about the files beside a skill or manifest."""
    found = _content(os.path.dirname(file.resolved))
    if len(found.files) > MANY_FILES:
        message = f"more than {MANY_FILES:,} files lie beside it"
        yield _finding(file, "too-many-files", message, "keep what it reads, and leave the rest out")
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
                if level < MAX_LEVELS and _is_walked(entry.name) and not _is_capability(entry.path):
                    pending.append((entry.path, level + 1))
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
                if os.path.splitext(entry.name)[1].lower() in OPAQUE or _begins_opaque(entry.path):
                    opaque.append(entry.name)
    return Content(tuple(files), tuple(sorted(opaque)))


def _is_walked(name: str) -> bool:
    return name not in SKIPPED or name == _BYTECODE_FOLDER


def _begins_opaque(path: str) -> bool:
    """Whether the first bytes are those of a program or an archive; False for a file that cannot be opened."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        header = os.read(handle, _HEADER_BYTES)
    except OSError:
        return False
    finally:
        os.close(handle)
    is_bytecode = header[2:4] == b"\r\n" and b"\0" in header[:16]
    return header.startswith(_BEGINNINGS) or is_bytecode or (header.startswith(b"MZ") and b"\0" in header)


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
