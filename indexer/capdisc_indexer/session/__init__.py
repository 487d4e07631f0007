"""Working memory: what an agent found, used and met across turns, one readable file a session.

`remember` is for whoever printed capabilities, `memory_lines` for whoever writes a prompt.
"""

from capdisc_indexer.session.files import begin, change, exists, load, names, remember, remove
from capdisc_indexer.session.memory import memory_lines, memory_within
from capdisc_indexer.session.values import Entity, Found, Note, Session, Used

__all__ = [
    "Entity",
    "Found",
    "Note",
    "Session",
    "Used",
    "begin",
    "change",
    "exists",
    "load",
    "memory_lines",
    "memory_within",
    "names",
    "remember",
    "remove",
]
