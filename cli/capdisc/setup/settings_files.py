"""Reads and replaces the settings files of clients, and remembers what setup put into them.

A file that is a link is read and written through it, so that files in a folder of dotfiles stay
there. A record of what was put in, with a digest of the file, is kept in the user's state folder:
`--undo` goes by it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from capdisc_indexer.config import settings_reader
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, InputError, LinkRefusedError
from capdisc_indexer.model.frozen import asdict, frozen, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.store import durable_files, state_file
from capdisc_indexer.text.shell_quoting import quote_word

_STATE_FOLDER = "setup"


@frozen(kw_only=True)
class Splice:
    """A change of a text: at `offset`, the characters `new` took the place of `old`."""

    entry: str
    offset: int
    old: str
    new: str


@frozen(kw_only=True)
class PlacedEntry:
    """What setup put into a file: the value that stood in its place (None: none did), and how many
    keys of its path were there before.
    """

    before: Any
    depth: int


@frozen(kw_only=True)
class SetupRecord:
    """What setup did to a file.

    `splices` lead from the text before to the text of the digest `sha256`. `existed` is False, and
    `folders` are named, where setup created the file and these folders. `entries` are by name.
    `previous` is the record of before, which holds until the file is written.
    """

    existed: bool
    folders: Sequence[str]
    sha256: str
    splices: Sequence[Splice]
    entries: dict[str, PlacedEntry]
    previous: SetupRecord | None = None

    def fits(self, text: str | None) -> bool:
        """Whether this is the text that setup left, which nobody edited since."""
        return text is not None and digest_text(text) == self.sha256


def read_text(path: Path) -> str | None:
    """The text of a file with its line ends; None where there is none. Raises InputError for a
    file that cannot be read, or is not text in UTF-8.
    """
    try:
        return settings_reader.read_text(path, settings_reader.MAX_CLIENT_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}", "check its permissions"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8", "save it as UTF-8") from error
    except ValueError as error:
        raise InputError(f"{path} is not a settings file: {error}", "move it away") from error


def check_writable(path: Path) -> None:
    """Raises InputError where the file, or a folder for it, could not be written. What was made
    read-only is not written by root either.
    """
    real = _real_path(path)
    folder = next(parent for parent in real.parents if parent.exists())
    for place in (real, folder) if real.exists() else (folder,):
        if not place.stat().st_mode & 0o222 or not os.access(place, os.W_OK):
            kind = "folder" if place.is_dir() else "file"
            raise InputError(
                f"cannot write {path}: the {kind} {place} is read-only",
                f"make it writable (chmod u+w {quote_word(str(place))}), or add the lines by hand",
            )
    if not folder.is_dir():
        raise InputError(f"cannot write {path}: {folder} is not a folder", "move it away")


def check_link(path: Path, workspace: Path, home: Path) -> None:
    """Raises LinkRefusedError for a file of the workspace that is a link out of it: a clone can
    bring links, and a text from the clone would go into a file of the user. In the home folder and
    outside of the workspace, links are the user's own.
    """
    if workspace == home or not path.is_relative_to(workspace):
        return
    if not _real_path(path).is_relative_to(_real_path(workspace)):
        raise LinkRefusedError(
            f"{path} is a link out of the project", "name the file that it leads to, or remove it"
        )


def write_text(path: Path, text: str, is_private: bool = False) -> None:
    """Replace the file in one step; missing folders are created. The mode stays; a new file has
    the usual one or, where it is private, one for its owner alone. Raises InputError where it
    cannot be written.
    """
    real = _real_path(path)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        durable_files.replace_user_file(real, text.encode(), is_private)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}", "check the disk and its permissions"
        ) from error


def lock_records(state_dir: Path) -> AbstractContextManager[None]:
    """Holds the lock to change files and their records. Raises as `state_file.lock_folder` does."""
    return state_file.lock_folder(state_dir / _STATE_FOLDER)


def write_with_record(
    state_dir: Path,
    path: Path,
    text: str | None,
    record: SetupRecord | None,
    folders: Sequence[str] = (),
    is_private: bool = False,
) -> None:
    """Replace the file by the text, or without a text remove it and those of `folders` that are
    empty then, and save the record. Only inside `lock_records`.

    A process that is killed at any point leaves what can be set up, and undone, again: what comes
    into the file is recorded before, and what goes out of it is forgotten after.
    """
    real, previous = _real_path(path), load_record(state_dir, path)
    if previous:
        previous = replace(previous, previous=None)
    if record:
        created = [str(folder) for folder in real.parents if not folder.exists()][::-1]
        record = replace(record, folders=(*record.folders, *created))
        _save_record(state_dir, path, replace(record, previous=previous))
    if text is None or text == read_text(path):
        _remove_files(real, text, folders)
    else:
        write_text(path, text, is_private)
    if not record or (previous and previous.entries.keys() - record.entries.keys()):
        _save_record(state_dir, path, record)


def _remove_files(real: Path, text: str | None, folders: Sequence[str]) -> None:
    """Remove what a killed process left next to the file; without a text the file as well, and
    those of `folders` that are empty then. Raises InputError where the disk refuses.
    """
    try:
        durable_files.temporary_path(real).unlink(missing_ok=True)
        if text is None:
            real.unlink(missing_ok=True)
            for folder in reversed(folders):
                _remove_folder(Path(folder))
    except OSError as error:
        raise InputError(
            f"cannot remove {error.filename}: {error.strerror}",
            "check the disk and its permissions",
        ) from error


def _remove_folder(folder: Path) -> None:
    """Remove the folder if it is empty. Raises OSError where the disk refuses it for now."""
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC):
            raise


def _real_path(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot follow the link {path}", "repair or remove it") from error


def digest_text(text: str) -> str:
    """The SHA-256 of the text in UTF-8, in hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def compare_texts(before: str, after: str, entry: str) -> Splice:
    """The smallest splice that leads from one text to the other."""
    start = _common_length(before, after)
    tail = _common_length(before[start:][::-1], after[start:][::-1])
    return Splice(
        entry=entry,
        offset=start,
        old=before[start : len(before) - tail],
        new=after[start : len(after) - tail],
    )


def _common_length(first: str, second: str) -> int:
    """How many characters the texts have in common from their beginning."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def revert_splices(text: str, splices: Sequence[Splice]) -> str:
    """The text before the splices."""
    for splice in reversed(splices):
        end = splice.offset + len(splice.new)
        text = text[: splice.offset] + splice.old + text[end:]
    return text


def load_record(state_dir: Path, path: Path) -> SetupRecord | None:
    """The record of the file; None where setup put nothing into it. After a process that was
    killed it is the record of the text in the file: of before or of after its change. Raises
    InputError for a record that cannot be read.
    """
    stored = _read_record(_record_path(state_dir, path))
    if stored is None:
        return None
    record = stored[1]
    if record.previous is None:
        return record
    text, records = read_text(path), (record, record.previous)
    # Where somebody has edited the file in between, the one that can take out more.
    widest = max(records, key=lambda record: len(record.entries))
    return next((record for record in records if record.fits(text)), widest)


def is_as_left(state_dir: Path, path: str) -> bool:
    """Whether setup wrote the file last, so that nothing in it is new to an index."""
    try:
        record = load_record(state_dir, Path(path))
        return record is not None and record.fits(read_text(Path(path)))
    except InputError:
        return False


def list_files(state_dir: Path) -> list[Path]:
    """The files that setup put something into, by name. Raises InputError as `load_record` does."""
    stored = map(_read_record, (state_dir / _STATE_FOLDER).glob("*.json"))
    return sorted(record[0] for record in stored if record)


def _read_record(record_path: Path) -> tuple[Path, SetupRecord] | None:
    """The path of a file and its record as they were saved; None where nothing was."""
    data = state_file.read_state_file(record_path)
    if data is None:
        return None
    try:
        fields = settings_reader.parse_json(data)
        return Path(fields["path"]), _decode_record(fields)
    except MALFORMED_DATA_ERRORS as error:
        raise InputError(
            f"cannot read {record_path}", "remove it; what setup put in then goes by hand"
        ) from error


def _decode_record(fields: JsonObject) -> SetupRecord:
    return SetupRecord(
        existed=bool(fields["existed"]),
        folders=tuple(map(str, fields["folders"])),
        sha256=str(fields["sha256"]),
        splices=tuple(Splice(**splice) for splice in fields["splices"]),
        entries={name: PlacedEntry(**entry) for name, entry in fields["entries"].items()},
        previous=_decode_record(fields["previous"]) if fields.get("previous") else None,
    )


def _save_record(state_dir: Path, path: Path, record: SetupRecord | None) -> None:
    """Replace the record of the file; with None, remove it."""
    record_path = _record_path(state_dir, path)
    if record is None:
        state_file.remove(record_path)
        return
    fields = {"version": 1, "path": str(path), **asdict(record)}
    state_file.replace_state_file(record_path, json.dumps(fields, indent=1).encode())


def _record_path(state_dir: Path, path: Path) -> Path:
    digits = hashlib.sha256(os.fsencode(_real_path(path))).hexdigest()[:32]
    return state_dir / _STATE_FOLDER / f"{digits}.json"
