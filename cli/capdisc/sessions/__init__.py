"""What `capdisc session` does, and how other commands record in a session what they print."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.context import surroundings
from capdisc.output import console


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


def remember_request(runtime: surroundings.Runtime, name: str | None, text: str) -> None:
    """Store the mode that a request asks for in the session, if one is named and begun."""
    if name is None:
        return
    from capdisc_indexer import sessions

    sessions.record_request(runtime.state_dir(), name, text)
