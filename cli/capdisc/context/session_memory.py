"""What commands record in a session and in the local log, and what they read there, by the plug-in
that keeps both. A command without a session and a log calls nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capdisc.context import surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from capdisc.context.open_index import CommandContext
    from capdisc_indexer.model.json_types import JsonObject
    from capdisc_indexer.model.types import ModeChoice
    from capdisc_indexer.rendering.render_job import SessionMemory
    from capdisc_indexer.tools.call_binding import BoundCall


def remember_printed(runtime: surroundings.Runtime, name: str, ids: Sequence[str]) -> None:
    """Record in the session that these capabilities are about to be printed. A notice names a
    session that this begins: else nobody would see that a name is mistyped.
    """
    _service().remember_printed(runtime, name, ids)


def remember_request(runtime: surroundings.Runtime, name: str, text: str) -> None:
    """Store the mode that a request asks for in the session, if it is begun."""
    _service().remember_request(runtime, name, text)


def log_event(
    runtime: surroundings.Runtime,
    event: str,
    ids: Sequence[str],
    query: Sequence[str] = (),
    session: str | None = None,
    ok: bool = True,
) -> None:
    """Add an event to the local log of requests and uses, which the setting `log` turns on. A log
    that cannot be written costs no answer: a notice says why.
    """
    _service().log_event(runtime, event, ids, query, session, ok)


def record_call(
    ctx: CommandContext, call: BoundCall, answer: JsonObject, session: str | None = None
) -> None:
    """Record a call of a discovery tool in the named session, and in the log if it is on."""
    if session is not None or ctx.config["log"]:
        _service("calls").record_call(ctx, call, answer, session)


def load_memory(state_dir: Path, name: str) -> tuple[SessionMemory | None, Sequence[str]]:
    """A session's lines for a prompt, and the ids of its active capabilities; none if it is new."""
    memory: tuple[SessionMemory | None, Sequence[str]] = _service().load_memory(state_dir, name)
    return memory


def load_ids(state_dir: Path, name: str) -> tuple[Sequence[str], Sequence[str]]:
    """The ids of a session's active capabilities, and of those found in it; none if it is new."""
    ids: tuple[Sequence[str], Sequence[str]] = _service().load_ids(state_dir, name)
    return ids


def choose_mode(state_dir: Path, name: str | None, text: str) -> ModeChoice:
    """The working mode that a request asks for, or that of the session where it asks for none."""
    choice: ModeChoice = _service().choose_session_mode(state_dir, name, text)
    return choice


def load_use_shares(state_dir: Path) -> Mapping[str, float]:
    """How often each capability was used, by the log: its share of all uses."""
    shares: Mapping[str, float] = _service().load_use_shares(state_dir)
    return shares


def _service(name: str = "sessions") -> Any:
    from capdisc_indexer.plugins.registry import load_service

    return load_service(name)
