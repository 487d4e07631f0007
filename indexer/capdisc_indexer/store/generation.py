"""Immutable generations and one pointer: a reader sees either the whole of one or the whole of the next.

    CURRENT              number and MANIFEST digest of the published generation; replaced by rename
    LOCK                 one writer, by flock
    gens/00000007/       text/ vectors/ matrix/ meta/ LEASE MANIFEST
    gens/.tmp-<pid>/     a generation being built; never read, removed by the next writer

Nothing is written into a published generation. A power cut leaves the old or the new one: every file is synced before
the folder gets its name, and the folder before CURRENT points to it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capdisc_indexer.errors import IndexStateError, InputError
from capdisc_indexer.types import Generation

SCHEMA_VERSION = 3
_FACTS = {"schema_version", "made_by", "encoder", "fingerprint", "pieces", "background", "counts", "files", "built_at"}
REBUILD = "run: capdisc index --rebuild"


def folder(index_dir: Path, number: int) -> Path:
    """Where generation `number` lies."""
    return index_dir / "gens" / f"{number:08d}"


def current(index_dir: Path) -> Generation | None:
    """The published generation, checked (pointer, manifest digest, size of every file); None when there is none.

    Raises IndexStateError when what is there cannot be trusted or was written by another version.
    """
    try:
        number_text, digest = (index_dir / "CURRENT").read_text().split()
        number = int(number_text)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise IndexStateError(f"the index pointer is damaged: {index_dir / 'CURRENT'}", REBUILD) from error
    manifest = _read_manifest(folder(index_dir, number), digest)
    _check_sizes(folder(index_dir, number), manifest["files"])
    return Generation(number=number, **manifest)


def check_folder(index_dir: Path) -> None:
    """Raises InputError for a folder that holds other things than an index: ours are never mixed with those."""
    try:
        names = {path.name for path in index_dir.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return
    if names and not names & {"CURRENT", "LOCK", "gens"}:
        raise InputError(f"{index_dir} holds other files, not an index", "name an empty folder with --index-dir DIR")


def pointer(index_dir: Path) -> str:
    """What CURRENT says now; empty when there is none."""
    try:
        return (index_dir / "CURRENT").read_text()
    except OSError:
        return ""


def _read_manifest(gen: Path, digest: str) -> dict[str, Any]:
    try:
        data = (gen / "MANIFEST").read_bytes()
    except OSError as error:
        raise IndexStateError(f"the index is incomplete: {gen / 'MANIFEST'} cannot be read", REBUILD) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise IndexStateError(f"the index is damaged: {gen / 'MANIFEST'} does not match its digest", REBUILD)
    manifest: dict[str, Any] = json.loads(data)
    if manifest.get("schema_version") != SCHEMA_VERSION or set(manifest) != _FACTS:
        raise IndexStateError("the index was written by another version of capdisc", "run: capdisc index")
    return manifest


def _check_sizes(gen: Path, files: Mapping[str, Any]) -> None:
    for name, entry in files.items():
        try:
            size = (gen / name).stat().st_size
        except OSError as error:
            raise IndexStateError(f"the index is damaged: {gen / name} is missing", REBUILD) from error
        if size != entry["size"]:
            raise IndexStateError(f"the index is damaged: {gen / name} has a wrong size", REBUILD)


def verify_digests(index_dir: Path, generation: Generation) -> list[str]:
    """The files of the generation whose content does not match its digest (reads everything)."""
    gen = folder(index_dir, generation.number)
    return [name for name, entry in generation.files.items() if digest(gen / name) != entry["sha256"]]


def digest(path: Path) -> str:
    """SHA-256 of the file; empty when it cannot be read."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError:
        return ""
