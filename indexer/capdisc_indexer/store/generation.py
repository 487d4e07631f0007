"""Reads the published generation: immutable folders and one pointer, so that a reader sees either
all of one generation or all of the next.

    CURRENT              number and MANIFEST digest of the published generation; replaced by rename
    LOCK                 one writer, by flock
    scan.json            when files were last scanned; a build can do without
    folders.json         what each folder held then; a build can do without
    gens/00000007/       text/ vectors/ pending/ matrix/ meta/ LEASE MANIFEST
    gens/.tmp-<pid>/     a generation being built; never read, removed by the next writer

Nothing is written into a published generation. After a power cut either the old or the new one is
there: every file is synced before the folder gets its name, and the folder before CURRENT points
to it.
"""

from __future__ import annotations

import json
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import IndexStateError, InputError
from capdisc_indexer.model.json_types import Manifest
from capdisc_indexer.model.types import Generation
from capdisc_indexer.store import native_errors
from capdisc_indexer.store.builders import check_builder
from capdisc_indexer.store.native_errors import REBUILD_HINT

SCHEMA_VERSION = 9
_MANIFEST_KEYS = set(
    "schema_version made_by builder_id encoder fingerprint pieces background counts files "
    "built_at".split()
)
_COUNT_KEYS = {"capabilities", "rows", "stored", "dim", "deleted", "files"}


def generation_folder(index_dir: Path, number: int) -> Path:
    """The folder of generation `number`."""
    return index_dir / "gens" / f"{number:08d}"


def load_current(index_dir: Path, builder_id: str | None = None) -> Generation | None:
    """The published generation, its files checked by `native_errors.check_files`; None when there
    is none.

    Raises IndexStateError when it is damaged or of another version. Raises ForeignIndexError when
    its builder is not `builder_id` (None: any is fine), before any file that the manifest names is
    opened.
    """
    manifest = load_unchecked(index_dir)
    if manifest is not None:
        check_builder(index_dir, manifest.builder_id, builder_id)
        native_errors.check_files(generation_folder(index_dir, manifest.number), manifest.files)
    return manifest


def load_unchecked(index_dir: Path) -> Generation | None:
    """The published generation as its manifest describes it; its files are not checked."""
    try:
        number_text, digest = (index_dir / "CURRENT").read_text().split()
        number = int(number_text)
    except FileNotFoundError:
        return None
    except (ValueError, IsADirectoryError) as error:
        raise IndexStateError(
            f"the index pointer is damaged: {index_dir / 'CURRENT'}", REBUILD_HINT
        ) from error
    manifest = _read_manifest(generation_folder(index_dir, number), digest)
    return Generation(number=number, **manifest)


def check_folder(index_dir: Path) -> None:
    """Raises InputError for a folder with other files than an index, so that both never mix."""
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
    """The content of CURRENT; "" when there is none."""
    try:
        return (index_dir / "CURRENT").read_text()
    except (OSError, ValueError):
        return ""


def _read_manifest(gen: Path, digest: str) -> Manifest:
    path = gen / "MANIFEST"
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise IndexStateError(
            f"the index is incomplete: {path} is missing", REBUILD_HINT
        ) from error
    if lazy_imports.hex_sha256(data) != digest:
        raise IndexStateError(
            f"the index is damaged: {path} does not match its digest", REBUILD_HINT
        )
    return parse_manifest(data)


def parse_manifest(data: bytes) -> Manifest:
    """The manifest. Raises IndexStateError for one of another version or shape."""
    try:
        manifest: Manifest = json.loads(data)
        if manifest["schema_version"] == SCHEMA_VERSION and _is_valid_manifest(manifest):
            return manifest
        version = int(manifest["schema_version"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        version = 0
    raise _version_error(version)


def _is_valid_manifest(manifest: Manifest) -> bool:
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
    """A new build loses nothing, since an index is made from files."""
    problem = "the index was written by another version of capdisc"
    if version > SCHEMA_VERSION:
        return IndexStateError(
            f"{problem}, a newer one (format {version}, this one knows {SCHEMA_VERSION})",
            "install that version again, or run: capdisc index",
        )
    return IndexStateError(problem, "run: capdisc index")


def verify_digests(index_dir: Path, generation: Generation) -> list[str]:
    """The files of the generation whose content does not match their digest; reads every byte."""
    return native_errors.find_changed_files(
        generation_folder(index_dir, generation.number), generation.files
    )
