"""What was printed before in this session of a client, so that nothing is printed twice?

One small file for each session: the ids that were printed, each with a digest of what was printed,
so that a capability that changed is printed again. A file is forgotten after two weeks, and when
the client says that earlier context is gone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.store import state_file

# A session that prints more forgets what it printed first.
MAX_ENTRIES = 400
MAX_SESSIONS = 200
EXPIRES_AFTER_S = 14 * 24 * 3600
# Longer than a change of such a file takes; a hook that waits holds up a prompt.
_LOCK_TIMEOUT_S = 0.15
_VERSION = 1


@frozen(kw_only=True)
class ClientSession:
    """What is known of a session: vectors of its last turns, the newest last, their encoder, and
    when which capability was offered, by name.
    """

    recent_vectors: tuple[bytes, ...] = ()
    encoder: str = ""
    offered: Mapping[str, float] = field(default_factory=dict)


def read_session(folder: Path, client: str, session: str) -> ClientSession:
    """What is known of the session; nothing where it has no file."""
    return ClientSession()


def record_printed(
    folder: Path, client: str, session: str, digests: Mapping[str, str]
) -> Collection[str]:
    """The ids of `digests` that were not printed in this session with the same digest, and are
    recorded as printed from now on. Of two processes only one gets an id.

    Raises CapdiscError where the state folder cannot be used, or another process holds it.
    """
    path = _session_path(folder, client, session)
    with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
        entries = _read_entries(path)
        new_ids = [name for name, digest in digests.items() if entries.get(name) != digest]
        if not new_ids:
            return ()
        if not path.exists():
            _drop_old_sessions(path.parent)
        for name in new_ids:
            entries.pop(name, None)  # the newest come last
            entries[name] = digests[name]
        kept_entries = dict(list(entries.items())[-MAX_ENTRIES:])
        record = {"version": _VERSION, "printed": kept_entries}
        state_file.replace_state_file(path, json.dumps(record).encode())
    return new_ids


def forget_session(folder: Path, client: str, session: str) -> None:
    """Forget what was printed in this session. Raises CapdiscError as `record_printed` does."""
    path = _session_path(folder, client, session)
    if path.exists():
        with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
            state_file.remove(path)


def _session_path(folder: Path, client: str, session: str) -> Path:
    digits = hashlib.sha256(f"{client}\0{session}".encode("utf-8", "replace")).hexdigest()[:24]
    return folder / "hook" / f"{digits}.json"


def _read_entries(path: Path) -> dict[str, str]:
    """The digests by id; none where the file is damaged, since it is written whole."""
    try:
        record = parse_json(state_file.read_state_file(path) or b"{}")
        return {str(name): str(digest) for name, digest in record.get("printed", {}).items()}
    except (ValueError, AttributeError, CapdiscError):
        return {}


def _drop_old_sessions(folder: Path) -> None:
    """Remove the files of sessions that have ended long ago, and the oldest beyond the limit."""
    changed_at: dict[Path, float] = {}
    for path in folder.glob(f"{'?' * 24}.json"):  # the memory of uses lies beside them
        with suppress(OSError):
            changed_at[path] = path.stat().st_mtime
    newest_first = sorted(changed_at, key=lambda path: -changed_at[path])
    now_s = time.time()
    for position, path in enumerate(newest_first, 1):
        # A time in the future was written while the clock was ahead, and would never expire.
        is_current = 0 <= now_s - changed_at[path] <= EXPIRES_AFTER_S
        if position >= MAX_SESSIONS or not is_current:
            with suppress(OSError):
                path.unlink()
