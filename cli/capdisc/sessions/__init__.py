"""What `capdisc session` does, and how other commands record in a session what they print."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.context import surroundings
from capdisc.output import console
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import CapdiscError


def remember_printed(runtime: surroundings.Runtime, name: str | None, ids: Sequence[str]) -> None:
    """Record in the session, if one is named, that these capabilities are about to be printed.

    A session that does not exist yet is begun where there is something to record, and a notice
    says so: else nobody would see that a name is mistyped.
    """
    if name is None:
        return
    from capdisc_indexer import sessions

    if not sessions.session_exists(runtime.state_dir(), name):
        if not ids:
            return
        console.print_notice(f"notice: {name} is a new session")
    sessions.record_discoveries(runtime.state_dir(), name, ids)


def log_event(
    runtime: surroundings.Runtime,
    config: Config,
    event: str,
    ids: Sequence[str],
    query: Sequence[str] = (),
    session: str | None = None,
    ok: bool = True,
) -> None:
    """Add an event to the local log of requests and uses, if the user keeps one. A log that cannot
    be written costs no answer: a notice says why.
    """
    if not config["log"]:
        return
    from capdisc_indexer.sessions import request_log

    entry = request_log.LogEvent(
        at=request_log.now(),
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


def remember_request(runtime: surroundings.Runtime, name: str | None, text: str) -> None:
    """Store the mode that a request asks for in the session, if one is named and begun."""
    if name is None:
        return
    from capdisc_indexer import sessions

    sessions.record_request(runtime.state_dir(), name, text)
