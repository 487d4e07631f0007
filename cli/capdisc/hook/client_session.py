"""What was said and printed before in this session of a client?

One small file for each session: how many turns there were, how much they read like coding, the
vectors of the last ones (no text of a prompt), what was printed in which turn, the lines that
fitted the last one, and what the agent has read or run since. A file is forgotten after two weeks,
and when the client says that earlier context is gone.
"""

from __future__ import annotations

import hashlib
import json
import time
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.config.settings_reader import parse_json
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.frozen import asdict, field, frozen, replace
from capdisc_indexer.store import state_file

# A session that prints more forgets what it printed first.
MAX_ENTRIES = 400
MAX_SESSIONS = 200
MAX_VECTORS = 3
EXPIRES_AFTER_S = 14 * 24 * 3600
# After this many turns a model may have lost sight of a line; a line that was doubtful is printed
# again where it is surer by this much.
FORGOTTEN_AFTER_TURNS, CLEARLY_SURER = 25, 0.25
# Longer than a change of such a file takes; a hook that waits holds up a prompt.
_LOCK_TIMEOUT_S = 0.15
_VERSION = 3
# The memory of uses lies next to them.
_FILE_PATTERN = f"{'?' * 24}.json"


@frozen
class Printed:
    """What was printed of a capability: its text's digest, the turn, and its probability."""

    digest: str
    turn: int
    probability: float


@frozen(kw_only=True)
class ClientSession:
    """The turns of a session so far: their number, the sum of their `coding` logits, the vectors
    of the last ones (of the encoder with this fingerprint), what was printed by id, the names of
    what the agent used itself, the client, and why the last prompt got nothing. `lines` are those
    that fitted the last turn, printed or not, and `agents` the subagents that got some.
    """

    turns: int = 0
    coding_sum: float = 0.0
    encoder: str = ""
    recent_vectors: tuple[bytes, ...] = ()
    printed: Mapping[str, Printed] = field(default_factory=dict)
    used_names: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    client: str = ""
    reason: str = ""


@frozen
class SessionTurn:
    """What is remembered of a turn: its vector, of which encoder, and its `coding` logit."""

    vector: bytes
    encoder: str
    coding: float


def read_session(folder: Path, client: str, session: str) -> ClientSession:
    """The session so far; an empty one where nothing is known of it."""
    return _read_session(_session_path(folder, client, session))


def list_sessions(folder: Path, since: float) -> list[ClientSession]:
    """The sessions with a turn since then, in seconds since 1970."""
    changed_at = _list_files(folder / "hook")
    return [_read_session(path) for path, moment in changed_at.items() if moment >= since]


def find_last_prompts(folder: Path) -> dict[str, tuple[float, ClientSession]]:
    """When each client last asked, in seconds since 1970, and the session of that."""
    changed_at = _list_files(folder / "hook")
    oldest_first = sorted(changed_at, key=lambda path: changed_at[path])
    sessions = [(changed_at[path], _read_session(path)) for path in oldest_first]
    return {session.client: (moment, session) for moment, session in sessions if session.client}


def record_turn(
    folder: Path,
    client: str,
    session: str,
    turn: SessionTurn | None,
    offers: Mapping[str, tuple[str, float]],
    lines: Sequence[str] = (),
    reason: str = "",
) -> Collection[str]:
    """The ids of `offers` (by id: digest and probability) that are to be printed now: not those
    that were, unless they changed, are clearly surer, or were long ago. They are recorded as
    printed, the turn as heard, with the `lines` of all that fitted it, and `reason` as why nothing
    is. Of two processes only one gets an id.

    Raises CapdiscError where the state folder cannot be used, or another process holds it.
    """
    path = _session_path(folder, client, session)
    with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
        memory = _read_session(path)
        number = memory.turns + bool(turn or offers)
        new = {
            name: Printed(digest, number, round(probability, 4))
            for name, (digest, probability) in offers.items()
            if _is_due(memory.printed.get(name), digest, probability, number)
        }
        if not path.exists():
            _drop_old_sessions(path.parent)
        # The newest come last.
        printed = {name: line for name, line in memory.printed.items() if name not in new} | new
        memory = replace(
            memory,
            turns=number,
            printed=dict(list(printed.items())[-MAX_ENTRIES:]),
            lines=tuple(lines),
            client=client,
            reason="" if new else reason,
        )
        _write_session(path, _add_turn(memory, turn) if turn else memory)
    return tuple(new)


def take_lines(folder: Path, client: str, session: str, agent: str) -> tuple[str, ...]:
    """The lines that fitted the last turn, for a subagent that did not get any yet: it knows
    nothing of what its session was told. Raises CapdiscError as `record_turn` does.
    """
    path = _session_path(folder, client, session)
    if not path.exists():
        return ()
    with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
        memory = _read_session(path)
        if agent in memory.agents or not memory.lines:
            return ()
        _write_session(path, replace(memory, agents=(*memory.agents, agent)[-MAX_ENTRIES:]))
    return memory.lines


def record_name(folder: Path, client: str, session: str, name: str) -> None:
    """Record that the agent used the capability of this name itself: it is not offered again in
    this session. Raises CapdiscError as `record_turn` does.
    """
    path = _session_path(folder, client, session)
    with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
        memory = _read_session(path)
        names = dict.fromkeys((*memory.used_names, name.casefold()))
        _write_session(path, replace(memory, used_names=tuple(names)[-MAX_ENTRIES:]))


def forget_session(folder: Path, client: str, session: str) -> None:
    """Forget this session. Raises CapdiscError as `record_turn` does."""
    path = _session_path(folder, client, session)
    if path.exists():
        with state_file.lock_folder(path.parent, _LOCK_TIMEOUT_S):
            state_file.remove(path)


def _is_due(before: Printed | None, digest: str, probability: float, number: int) -> bool:
    return (
        before is None
        or before.digest != digest
        or number - before.turn >= FORGOTTEN_AFTER_TURNS
        or probability >= before.probability + CLEARLY_SURER
    )


def _add_turn(memory: ClientSession, turn: SessionTurn) -> ClientSession:
    vectors = memory.recent_vectors if memory.encoder == turn.encoder else ()
    return replace(
        memory,
        coding_sum=memory.coding_sum + turn.coding,
        encoder=turn.encoder,
        recent_vectors=(*vectors, turn.vector)[-MAX_VECTORS:],
    )


def _session_path(folder: Path, client: str, session: str) -> Path:
    digits = hashlib.sha256(f"{client}\0{session}".encode("utf-8", "replace")).hexdigest()[:24]
    return folder / "hook" / f"{digits}.json"


def _read_session(path: Path) -> ClientSession:
    """The session of the file; an empty one where it is damaged, since it is written whole."""
    try:
        stored = parse_json(state_file.read_state_file(path) or b"{}")
        if stored.get("version") != _VERSION:
            return ClientSession()
        return ClientSession(
            turns=int(stored["turns"]),
            coding_sum=float(stored["coding_sum"]),
            encoder=str(stored["encoder"]),
            recent_vectors=tuple(map(a2b_base64, stored["recent_vectors"])),
            printed={
                str(name): Printed(str(digest), int(turn), float(probability))
                for name, (digest, turn, probability) in stored["printed"].items()
            },
            used_names=tuple(map(str, stored["used_names"])),
            lines=tuple(map(str, stored["lines"])),
            agents=tuple(map(str, stored["agents"])),
            client=str(stored["client"]),
            reason=str(stored["reason"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, Base64Error, CapdiscError):
        return ClientSession()


def _write_session(path: Path, session: ClientSession) -> None:
    printed = {
        name: [line.digest, line.turn, line.probability] for name, line in session.printed.items()
    }
    document = asdict(replace(session, printed={}, recent_vectors=())) | {
        "version": _VERSION,
        "printed": printed,
        "recent_vectors": [
            b2a_base64(vector, newline=False).decode() for vector in session.recent_vectors
        ],
    }
    state_file.replace_state_file(path, json.dumps(document).encode())


def _drop_old_sessions(folder: Path) -> None:
    """Remove the files of sessions that have ended long ago, and the oldest beyond the limit."""
    changed_at = _list_files(folder)
    newest_first = sorted(changed_at, key=lambda path: -changed_at[path])
    now_s = time.time()
    for position, path in enumerate(newest_first, 1):
        # A time in the future was written while the clock was ahead, and would never expire.
        is_current = 0 <= now_s - changed_at[path] <= EXPIRES_AFTER_S
        if position >= MAX_SESSIONS or not is_current:
            with suppress(OSError):
                path.unlink()


def _list_files(folder: Path) -> dict[Path, float]:
    """When the file of each session was changed, in seconds since 1970."""
    changed_at: dict[Path, float] = {}
    for path in folder.glob(_FILE_PATTERN):
        with suppress(OSError):  # another process removes old ones
            changed_at[path] = path.stat().st_mtime
    return changed_at
