"""The memory of an agent across turns: what it found, what it used, which entities results named.

Each session is one readable file. A command that printed capabilities calls `record_discoveries`;
one that prints a prompt calls `memory_lines` or `fit_memory_lines`.
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
