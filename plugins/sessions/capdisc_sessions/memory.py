"""How other commands record in sessions and in the log what they print, and read it again: the
service `sessions`, which `capdisc.context.session_memory` calls.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.model.errors import CapdiscError
from capdisc_indexer.model.types import ModeChoice
from capdisc_indexer.rendering.render_job import SessionMemory
from capdisc_sessions import memory_lines, request_log, session_files
from capdisc_sessions.session_types import choose_mode


def remember_printed(runtime: surroundings.Runtime, name: str, ids: Sequence[str]) -> None:
    """Record in the session that these capabilities are about to be printed.

    A session that does not exist yet is begun where there is something to record, and a notice
    says so.
    """
    if ids:
        announce_new_session(runtime, name)
    elif not session_files.session_exists(runtime.state_dir(), name):
        return
    session_files.record_discoveries(runtime.state_dir(), name, ids)


def announce_new_session(runtime: surroundings.Runtime, name: str) -> None:
    """Say that the session is about to be begun, if it is not."""
    if not session_files.session_exists(runtime.state_dir(), name):
        console.print_notice(f"notice: {name} is a new session")


def remember_request(runtime: surroundings.Runtime, name: str, text: str) -> None:
    """Store the mode that a request asks for in the session, if it is begun."""
    session_files.record_request(runtime.state_dir(), name, text)


def log_event(
    runtime: surroundings.Runtime,
    event: str,
    ids: Sequence[str],
    query: Sequence[str] = (),
    session: str | None = None,
    ok: bool = True,
) -> None:
    """Add an event to the local log. Where it cannot be written, a notice says why."""
    entry = request_log.LogEvent(
        at=time.time(),
        event=event,
        query="\n".join(query),
        ids=tuple(ids),
        session=session or "",
        ok=ok,
    )
    try:
        request_log.append_event(runtime.state_dir(), entry)
    except (CapdiscError, OSError) as error:
        console.print_notice(f"notice: the log was not written: {error}")


def load_memory(state_dir: Path, name: str) -> tuple[SessionMemory | None, Sequence[str]]:
    """The lines of the session, which shorten themselves to fit, and the ids of its active
    capabilities; None and no ids for a session that does not exist yet.
    """
    session = session_files.find_session(state_dir, name)
    if session is None:
        return None, ()
    return (
        lambda budget, count: memory_lines.fit_memory_lines(session, budget, count),
        session.active,
    )


def load_ids(state_dir: Path, name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The active ids and those of what was found in the session; none for one that does not exist
    yet.
    """
    session = session_files.find_session(state_dir, name)
    return (session.active, list(session.discovered)) if session else ((), ())


def choose_session_mode(state_dir: Path, name: str | None, text: str) -> ModeChoice:
    """The mode that a request asks for, or that of the session where it asks for none."""
    session = session_files.find_session(state_dir, name) if name else None
    return choose_mode(text, session.mode if session else "")


def load_use_shares(state_dir: Path) -> Mapping[str, float]:
    """The share of each capability in all uses of the log, by id."""
    return request_log.use_shares(request_log.read_events(state_dir))
