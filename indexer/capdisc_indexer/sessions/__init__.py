"""Working memory: what an agent found, used and met across turns, one readable file a session.

`remember` is for whoever printed capabilities, `memory_lines` for whoever writes a prompt.
"""

from capdisc_indexer.sessions.prompt_memory import fit_memory_lines, memory_lines
from capdisc_indexer.sessions.session_files import (
    create_session,
    delete_session,
    list_sessions,
    load_session,
    record_discoveries,
    session_exists,
    update_session,
)
from capdisc_indexer.sessions.session_types import Discovery, Entity, Session, SessionNote, Usage

__all__ = [
    "Discovery",
    "Entity",
    "Session",
    "SessionNote",
    "Usage",
    "create_session",
    "delete_session",
    "fit_memory_lines",
    "list_sessions",
    "load_session",
    "memory_lines",
    "record_discoveries",
    "session_exists",
    "update_session",
]
