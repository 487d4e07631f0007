"""Sessions on disk: `sessions/NAME.json` in the state folder, each changed by one process at a
time.

A person may edit the file, so nothing in it is taken on trust.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import asdict, fields, replace
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.sources.readers import json_reader
from capdisc_indexer.store import state_file
from capdisc_indexer.text.normalization import one_line
from capdisc_sessions import transitions
from capdisc_sessions.session_types import (
    MAX_ENTITIES,
    MAX_IDS,
    MAX_NOTE,
    MAX_NOTES,
    MAX_TEXT,
    MODES,
    Discovery,
    Entity,
    Session,
    SessionNote,
    Usage,
    choose_mode,
)

SCHEMA_VERSION = 1
_MAX_COUNT = 10**9
# Names that every file system takes; agents call their sessions 5f3c-..., ses_01, 2024-05-01T10.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
# What stands in a field that is neither a text nor a count: a mapping by id or a list of entries,
# the longest that is read, and the longest text in an entry.
_CONTAINERS: Mapping[str, tuple[Any, int, int]] = {
    "discovered": (Discovery, MAX_IDS, MAX_TEXT),
    "used": (Usage, MAX_IDS, MAX_TEXT),
    "active": (str, MAX_IDS, MAX_TEXT),
    "entities": (Entity, MAX_ENTITIES, MAX_TEXT),
    "notes": (SessionNote, MAX_NOTES, MAX_NOTE),
}


def encode_session(session: Session) -> bytes:
    """The content of the session's file: JSON, indented for a person."""
    text = json.dumps(session_document(session), ensure_ascii=False, indent=2)
    return f"{text}\n".encode("utf-8", "replace")


def session_document(session: Session) -> JsonObject:
    """The session as JSON values, with the version of the schema."""
    values = asdict(session)
    return {"schema_version": SCHEMA_VERSION, "session": values.pop("name"), **values}


def decode_session(data: bytes, name: str) -> Session:
    """The session in a file's content. Raises ValueError, with what is wrong, for a content that
    `encode_session` does not write.
    """
    document = _check_object(json_reader.loads(data))
    if document.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(
            f"it is of version {document.get('schema_version')!r:.20}, not {SCHEMA_VERSION}"
        )
    session: Session = _decode_fields(Session, document | {"name": name}, MAX_TEXT)
    return session if session.mode in MODES else replace(session, mode="")


def _decode_fields(kind: Any, value: Any, limit: int) -> Any:
    """The value of this kind whose fields are texts of limited length, counts and containers."""
    entry, types = _check_object(value), kind.__annotations__
    values: dict[str, Any] = {}
    if entry.get("last", "") not in ("ok", "failed", ""):
        raise ValueError("a last result is neither ok nor failed")
    for key in fields(kind):
        if types[key].startswith("Mapping"):
            values[key] = _decode_mapping(entry, key)
        elif types[key].startswith("tuple"):
            values[key] = _decode_list(entry, key)
        elif types[key] == "int":
            values[key] = _read_count(entry, key)
        else:
            values[key] = _read_text(entry.get(key, ""), limit)
    return kind(**values)


def _decode_mapping(entry: JsonObject, key: str) -> Mapping[str, object]:
    """The latest entries under this key, by id."""
    kind, count, limit = _CONTAINERS[key]
    entries = list(_check_object(entry.get(key, {})).items())[-count:]
    return {
        one_line(identifier, MAX_TEXT): _decode_fields(kind, value, limit)
        for identifier, value in entries
    }


def _decode_list(entry: JsonObject, key: str) -> tuple[Any, ...]:
    kind, count, limit = _CONTAINERS[key]
    if not isinstance(entries := entry.get(key, []), list):
        raise ValueError(f"{key} is not a list")  # noqa: TRY004
    decode = _read_text if kind is str else partial(_decode_fields, kind)
    return tuple(decode(value, limit) for value in entries[-count:])


# One kind of error for whatever is damaged in a file: ValueError also for a wrong type.


def _check_object(value: Any) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError("an entry is not an object")  # noqa: TRY004
    return value


def _read_text(value: Any, limit: int) -> str:
    if not isinstance(value, str):
        raise ValueError("an entry is not text")  # noqa: TRY004
    return one_line(value, limit)


def _read_count(entry: JsonObject, key: str) -> int:
    value = entry.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_COUNT:
        raise ValueError(f"{key} is not a whole number from 0 on")
    return value


def list_sessions(state_dir: Path) -> list[str]:
    """The names of all sessions, sorted. Raises InputError where the folder cannot be read."""
    try:
        stems = [
            path.stem for path in _sessions_folder(state_dir).iterdir() if path.suffix == ".json"
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(
            f"cannot read {_sessions_folder(state_dir)}: {error.strerror}", "see CAPDISC_STATE_DIR"
        ) from error
    return sorted(name for name in stems if _NAME.fullmatch(name))


def session_exists(state_dir: Path, name: str) -> bool:
    """Whether a session of this name exists. Raises UsageError for a text that cannot be a
    name.
    """
    return state_file.read_state_file(_session_path(state_dir, name)) is not None


def load_session(state_dir: Path, name: str) -> Session:
    """The session. Raises UsageError, with similar names, where there is none, and InputError
    where its file is damaged.
    """
    session = find_session(state_dir, name)
    if session is None:
        raise _missing_error(state_dir, name)
    return session


def create_session(state_dir: Path, name: str) -> Session:
    """A new session, written to its file. Raises UsageError where the name is taken."""
    with state_file.lock_folder(_sessions_folder(state_dir)):
        if state_file.read_state_file(_session_path(state_dir, name)) is not None:
            raise UsageError(
                f"there is a session {name} already", f"capdisc session clear {name} empties it"
            )
        return _write_session(state_dir, _new_session(name))


def update_session(
    state_dir: Path,
    name: str,
    step: Callable[[Session], Session],
    *,
    create: bool = False,
    repair: bool = False,
) -> Session:
    """The session after `step`, as it was written.

    With `create`, a missing session is begun; with `repair`, one whose file is damaged is begun
    again. Raises as `load_session`, and BusyError when another process keeps the lock.
    """
    path = _session_path(state_dir, name)
    if not create and not session_exists(state_dir, name):  # before the lock makes the folder
        raise _missing_error(state_dir, name)
    with state_file.lock_folder(_sessions_folder(state_dir)):
        try:
            session = find_session(state_dir, name)
        except InputError:
            if not repair or path.is_symlink():
                raise
            session = _new_session(name)
        if session is None and not create:
            raise _missing_error(state_dir, name)
        return _write_session(state_dir, step(session or _new_session(name)))


def record_discoveries(state_dir: Path, name: str, ids: Sequence[str]) -> Session:
    """The session after a new turn in which these capabilities were found; a missing one is
    begun.
    """
    return update_session(
        state_dir, name, lambda session: transitions.add_discoveries(session, ids), create=True
    )


def record_request(state_dir: Path, name: str, text: str) -> None:
    """Stores the mode that a request asks for in the session, where there is one and it has
    another mode.
    """
    session = find_session(state_dir, name)
    mode = choose_mode(text, session.mode).mode if session else ""
    if session and mode != session.mode:
        update_session(state_dir, name, lambda session: replace(session, mode=mode))


def delete_session(state_dir: Path, name: str) -> None:
    """Deletes the session. Raises UsageError where there is none."""
    if not session_exists(state_dir, name):
        raise _missing_error(state_dir, name)
    with state_file.lock_folder(_sessions_folder(state_dir)):
        _session_path(state_dir, name).unlink(missing_ok=True)


def find_session(state_dir: Path, name: str) -> Session | None:
    """The session, or None where there is none. Raises as `load_session` otherwise."""
    data = state_file.read_state_file(_session_path(state_dir, name))
    if data is None:
        return None
    try:
        return decode_session(data, name)
    except ValueError as error:
        reason = str(error).splitlines()[0][:120]
        path = _session_path(state_dir, name)
        hint = f"mend {path}, or empty the session: capdisc session clear {name}"
        raise InputError(f"the session {name} cannot be read: {reason}", hint) from error


def _write_session(state_dir: Path, session: Session) -> Session:
    written = replace(session, updated=_timestamp())
    state_file.replace_state_file(_session_path(state_dir, session.name), encode_session(written))
    return written


def _new_session(name: str) -> Session:
    now = _timestamp()
    return Session(name=name, created=now, updated=now)


def _sessions_folder(state_dir: Path) -> Path:
    return state_dir / "sessions"


def _session_path(state_dir: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        shown = f"{name[:40]!r}"
        raise UsageError(
            f"{shown} cannot name a session",
            "use up to 96 letters, digits and - _ ., a letter or a digit first",
        )
    return _sessions_folder(state_dir) / f"{name}.json"


def _missing_error(state_dir: Path, name: str) -> UsageError:
    from difflib import get_close_matches

    similar = get_close_matches(name, list_sessions(state_dir), n=3, cutoff=0.5)
    hint = (
        f"did you mean: {', '.join(similar)}"
        if similar
        else f"begin it: capdisc session new {name}"
    )
    return UsageError(f"there is no session {name}", hint)


def _timestamp() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
