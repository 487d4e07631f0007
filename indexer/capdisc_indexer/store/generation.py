"""Immutable generations and one pointer: a reader sees either the whole of one or the whole of the
next.

    CURRENT              number and MANIFEST digest of the published generation; replaced by rename
    LOCK                 one writer, by flock
    scan.json            when files were last looked at; a build can do without
    folders.json         what each folder held then; a build can do without
    gens/00000007/       text/ vectors/ pending/ matrix/ meta/ LEASE MANIFEST
    gens/.tmp-<pid>/     a generation being built; never read, removed by the next writer

Nothing is written into a published generation. A power cut leaves the old or the new one: every
file is synced before the folder gets its name, and the folder before CURRENT points to it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import IndexStateError, InputError
from capdisc_indexer.model.types import Generation
from capdisc_indexer.store import native_errors
from capdisc_indexer.store.builders import check_builder
from capdisc_indexer.store.native_errors import REBUILD_HINT

SCHEMA_VERSION = 8
_MANIFEST_KEYS = set(
    "schema_version made_by builder_id encoder fingerprint pieces background counts files built_at".split()
)
_COUNT_KEYS = {"capabilities", "rows", "stored", "dim", "deleted", "files"}


def generation_folder(index_dir: Path, number: int) -> Path:
    """Where generation `number` lies."""
    return index_dir / "gens" / f"{number:08d}"


def load_current(index_dir: Path, builder_id: str | None = None) -> Generation | None:
    """The published generation, checked as `integrity.check_files` does; None when there is none.

    Raises IndexStateError when what is there cannot be trusted or was written by another version,
    ForeignIndexError before anything that its manifest names is looked at where another than
    `builder_id` built it (None: nobody asks).
    """
    manifest = load_unchecked(index_dir)
    if manifest is not None:
        check_builder(index_dir, manifest.builder_id, builder_id)
        native_errors.check_files(generation_folder(index_dir, manifest.number), manifest.files)
    return manifest


def load_unchecked(index_dir: Path) -> Generation | None:
    """The published generation as its manifest describes it; of its files, nothing has been looked
    at.
    """
    try:
        number_text, digest = (index_dir / "CURRENT").read_text().split()
        number = int(number_text)
    except FileNotFoundError:
        return None
    except (ValueError, IsADirectoryError) as error:
        raise IndexStateError(
            f"the index pointer is damaged: {index_dir / 'CURRENT'}", REBUILD_HINT
        ) from error
    return Generation(number=number, **_read_manifest(generation_folder(index_dir, number), digest))


def check_folder(index_dir: Path) -> None:
    """Raises InputError for a folder that holds other things than an index: ours are never mixed
    with those.
    """
    try:
        names = {path.name for path in index_dir.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return
    if names and not names & {"CURRENT", "LOCK", "gens"}:
        raise InputError(
            f"{index_dir} holds other files, not an index",
            "name an empty folder with --index-dir DIR",
        )


def read_pointer(index_dir: Path) -> str:
    """What CURRENT says now; empty when there is none."""
    try:
        return (index_dir / "CURRENT").read_text()
    except (OSError, ValueError):
        return ""


def _read_manifest(gen: Path, digest: str) -> dict[str, Any]:
    path = gen / "MANIFEST"
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise IndexStateError(
            f"the index is incomplete: {path} is missing", REBUILD_HINT
        ) from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise IndexStateError(
            f"the index is damaged: {path} does not match its digest", REBUILD_HINT
        )
    return parse_manifest(data)


def parse_manifest(data: bytes) -> dict[str, Any]:
    """What a manifest says. Raises IndexStateError for one of another version."""
    try:
        manifest: dict[str, Any] = json.loads(data)
        if manifest["schema_version"] == SCHEMA_VERSION and _is_valid_manifest(manifest):
            return manifest
        version = int(manifest["schema_version"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version = 0
    raise _version_error(version)


def _is_valid_manifest(manifest: dict[str, Any]) -> bool:
    counts, files = manifest["counts"], manifest["files"]
    return (
        set(manifest) == _MANIFEST_KEYS
        and isinstance(manifest["builder_id"], str)
        and set(counts) == _COUNT_KEYS
        and all(isinstance(value, int) for value in counts.values())
        and all(
            isinstance(entry["size"], int) and isinstance(entry["sha256"], str)
            for entry in files.values()
        )
    )


def _version_error(version: int) -> IndexStateError:
    """Both ways the files are the truth, so that nothing is lost by building anew."""
    what = "the index was written by another version of capdisc"
    if version > SCHEMA_VERSION:
        return IndexStateError(
            f"{what}, a newer one (format {version}, this one knows {SCHEMA_VERSION})",
            "install that version again, or run: capdisc index",
        )
    return IndexStateError(what, "run: capdisc index")


def verify_digests(index_dir: Path, generation: Generation) -> list[str]:
    """The files of the generation whose content does not match its digest (reads everything)."""
    return native_errors.find_changed_files(
        generation_folder(index_dir, generation.number), generation.files
    )
