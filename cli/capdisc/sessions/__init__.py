"""What the verbs of `capdisc session` do, and how other commands tell a session what they
printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.context import surroundings
from capdisc.output import console


def remember_printed(runtime: surroundings.Runtime, name: str | None, ids: Sequence[str]) -> None:
    """Tell the session, if one is named, that these capabilities are about to be printed. It is
    begun where there is none and something is printed, and a notice says so: a name that was
    mistyped would else go unseen.
    """
    if name is None:
        return
    from capdisc_indexer import sessions

    if not sessions.session_exists(runtime.state_dir(), name):
        if not ids:
            return
        console.print_notice(f"notice: {name} is a new session")
    sessions.record_discoveries(runtime.state_dir(), name, ids)
