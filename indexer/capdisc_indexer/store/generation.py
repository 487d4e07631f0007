"""Reads the published generation: immutable folders and one pointer, so that a reader sees either
all of one generation or all of the next. And records which index folders this user built.

    CURRENT              number and MANIFEST digest of the published generation; replaced by rename
    LOCK                 one writer, by flock
    scan.json            when files were last scanned; a build can do without
    stamps.bin           stamps of all files and folders then; a query can do without
    checked.json         stamps of the generation's files when their digests were right
    table/               the LanceDB table, which follows the published generation; see lance_table
    gens/00000007/       text/ matrix/ reranker/ passages/ meta/ LEASE MANIFEST
    gens/.tmp-<pid>/     a generation being built; never read, removed by the next writer

Nothing is written into a published generation. After a power cut either the old or the new one is
there: every file is synced before the folder gets its name, and the folder before CURRENT points
to it.

An index names folders as its roots, and a reader opens the files that it names. Unchecked, an
index that came with a clone would be trusted like the user's own. So each manifest holds a random
id, and so does a record in the user's state folder; a reader compares the two. Nobody can guess
the id or ship the record with a clone: only this user writes to the state folder.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import (
    ForeignIndexError,
    IndexStateError,
    InputError,
    OlderIndexError,
)
from capdisc_indexer.model.json_types import Manifest
from capdisc_indexer.model.types import Generation
from capdisc_indexer.platforms import resolve_path, system
from capdisc_indexer.store import native_errors
from capdisc_indexer.store.native_errors import REBUILD_HINT

SCHEMA_VERSION = 21
_MANIFEST_KEYS = set(
    "schema_version made_by builder_id encoder fingerprint pieces background counts files "
    "built_at reranker reranker_fingerprint".split()
)
_COUNT_KEYS = set(
    "capabilities rows dim deleted files passages passage_dim deleted_passages "
    "passage_limit passage_bytes reranker_dim".split()
)
_FOLDER = "indexes"
_CHECKED_FILE = "checked.json"
# What only an index has. If it is removed while a process writes, any of the other names remains.
_INDEX_FILES = "CURRENT LOCK gens".split()
_OTHER_INDEX_FILES = frozenset("table checked.json stamps.bin".split())
_TABLE_FILES = frozenset("LOCK QUEUE STATE capability_index.lance".split())
# A file that was written so recently may be written again within one step of the clock that stamps
# it: its stamp is not kept.
_SETTLED_NS = 2_000_000_000
_USE_STEP_S = 24 * 3600
_MAX_BYTES = 64 * 1024  # a path has 4 KiB at most, and JSON makes up to six bytes of one
# From this number of records on, those of index folders that no longer exist are removed.
_CLEANUP_COUNT = 1_000


def generation_folder(index_dir: Path, number: int) -> Path:
    """The folder of generation `number`."""
    return index_dir / "gens" / f"{number:08d}"


def load_current(index_dir: Path, builder_id: str | None = None) -> Generation | None:
    """The published generation, its files checked by `native_errors.check_files` unless their
    stamps say that they are as they were at an earlier check; None when there is none.

    Raises IndexStateError when it is damaged or of another version. Raises ForeignIndexError when
    its builder is not `builder_id` (None: any is fine), before any file that the manifest names is
    opened.
    """
    manifest = load_unchecked(index_dir)
    if manifest is not None:
        check_builder(index_dir, manifest.builder_id, builder_id)
        _check_changed_files(index_dir, manifest)
    return manifest


def _check_changed_files(index_dir: Path, manifest: Generation) -> None:
    """Check the files, unless none was written since they were checked last. Their stamps are kept
    for the next reader, where this one may write.
    """
    folder = generation_folder(index_dir, manifest.number)
    stamps = [_read_stamp(f"{folder}/{name}") for name in manifest.files]
    record = json.dumps([read_pointer(index_dir), stamps]).encode()
    path = f"{index_dir}/{_CHECKED_FILE}"
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            if file.read(len(record) + 1) == record:
                return
    except OSError:
        pass
    now = time.time_ns()
    native_errors.check_files(folder, manifest.files)
    if max(max(stamp[:2]) for stamp in stamps) > now - _SETTLED_NS:
        return
    # Nothing depends on the file, so it is not synced, and two readers may write it at once: half
    # a record is not the same bytes.
    temporary = f"{index_dir}/.{_CHECKED_FILE}.new"
    with suppress(OSError):
        os.unlink(temporary)  # noqa: PTH108
    with suppress(OSError):
        fd = system.create_file(temporary)
        try:
            os.write(fd, record)
        finally:
            os.close(fd)
        system.replace(temporary, path)


def _read_stamp(path: str) -> tuple[int, int, int, int]:
    """Times of content and inode, size, inode; zeros for a file that is missing."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return (0, 0, 0, 0)
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


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
    table_names = {path.name for path in index_dir.glob("table/*")}
    is_remainder = names <= _OTHER_INDEX_FILES and table_names <= _TABLE_FILES
    if names.isdisjoint(_INDEX_FILES) and not is_remainder:
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
    kind = OlderIndexError if version > 0 else IndexStateError
    return kind(problem, "run: capdisc index")


def mark_use(index_dir: Path) -> None:
    """Touch the lock file, at most once a day and where that is possible, to show that the index
    is in use: one that nobody uses for long may be removed.
    """
    path = f"{index_dir}/LOCK"
    with suppress(OSError):
        if time.time() - os.stat(path).st_mtime > _USE_STEP_S:  # noqa: PTH116
            os.utime(path)


def verify_digests(index_dir: Path, generation: Generation) -> list[str]:
    """The files of the generation whose content does not match their digest; reads every byte."""
    return native_errors.find_changed_files(
        generation_folder(index_dir, generation.number), generation.files
    )


def new_builder_id() -> str:
    """A random id of 32 hex digits."""
    return os.urandom(16).hex()


def check_builder(index_dir: Path, found_id: str, expected_id: str | None) -> None:
    """Raises ForeignIndexError unless the index was built by this user.

    `expected_id` is the id in the user's state ("": none); None turns the check off.
    """
    if expected_id is not None and (not expected_id or found_id != expected_id):
        raise ForeignIndexError(index_dir.as_posix())


def load_builder_id(trust_dir: Path, index_dir: Path) -> str:
    """The id that the user's state has for this index folder; "" without a record, or where others
    may have written it.

    A cold search reads it, so it imports nothing more and takes five system calls.
    """
    folder = resolve_path(index_dir)
    try:
        path = _record_path(trust_dir, folder)
        fd = system.open_file(path)
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(fd)
        is_own = status.st_uid in (system.own_user(), 0) and not system.can_others_write(status)
        if not stat.S_ISREG(status.st_mode) or not is_own:
            return ""
        return _parse_record(os.read(fd, _MAX_BYTES)).get(folder, "")
    except OSError:
        return ""
    finally:
        os.close(fd)


def ensure_builder_id(trust_dir: Path, index_dir: Path) -> str:
    """The id of builds in this folder; a new one is recorded where there is none yet.

    Two writers at once get the same id. Raises InputError when the user's state cannot be written,
    BusyError when another process keeps it locked.
    """
    if recorded_id := load_builder_id(trust_dir, index_dir):
        return recorded_id
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        if recorded_id := load_builder_id(trust_dir, index_dir):
            return recorded_id
        builder_id = new_builder_id()
        _write_record(trust_dir, index_dir, builder_id)
    return builder_id


def remember_builder_id(trust_dir: Path, index_dir: Path, builder_id: str) -> None:
    """Record that the index in this folder is trusted as long as it has this id.

    Raises InputError when the user's state cannot be written.
    """
    from capdisc_indexer.store import state_file

    with state_file.lock_folder(trust_dir / _FOLDER):
        _write_record(trust_dir, index_dir, builder_id)


def forget_builder_id(trust_dir: Path, index_dir: Path) -> bool:
    """Remove the record of this folder; False when there is none."""
    from capdisc_indexer.store import state_file

    path = _record_path(trust_dir, resolve_path(index_dir))
    if state_file.read_state_file(path) is None:
        return False
    with state_file.lock_folder(path.parent):
        state_file.remove(path)
    return True


def list_own_indexes(trust_dir: Path) -> list[str]:
    """Every recorded index folder in order, even if it no longer exists."""
    return sorted(folder for _, folder in _list_records(trust_dir))


def _write_record(trust_dir: Path, index_dir: Path, builder_id: str) -> None:
    from capdisc_indexer.store import state_file

    folder = resolve_path(index_dir)
    records = list(_list_records(trust_dir))
    for path, recorded_folder in records if len(records) >= _CLEANUP_COUNT else ():
        if not Path(recorded_folder).exists():
            state_file.remove(path)
    record = {"version": 1, "index": folder, "id": builder_id}
    state_file.replace_state_file(_record_path(trust_dir, folder), json.dumps(record).encode())


def _list_records(trust_dir: Path) -> Iterator[tuple[Path, str]]:
    """The path of each record, and its index folder."""
    for path in (trust_dir / _FOLDER).glob("*.json"):
        try:
            data = path.read_bytes()
        except OSError:
            continue
        yield from ((path, folder) for folder in _parse_record(data))


def _record_path(trust_dir: Path, folder: str) -> Path:
    digits = lazy_imports.hex_sha256(folder.encode("utf-8", "surrogateescape"))[:32]
    return trust_dir / _FOLDER / f"{digits}.json"


def _parse_record(data: bytes) -> dict[str, str]:
    """The id of a record by its folder; empty when the data are not a record."""
    try:
        record = json.loads(data)
        folder, builder_id = record["index"], record["id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {folder: builder_id} if isinstance(folder, str) and isinstance(builder_id, str) else {}
