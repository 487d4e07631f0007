"""What happens to a session, each step a function from the last state to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.sessions.modes import next_mode
from capdisc_indexer.sessions.session_types import (
    MAX_ENTITIES,
    MAX_IDS,
    MAX_NOTE,
    MAX_NOTES,
    Discovery,
    Entity,
    Session,
    SessionNote,
    Usage,
)
from capdisc_indexer.text.normalization import one_line

_Counted = TypeVar("_Counted", Discovery, Usage)


def add_discoveries(session: Session, ids: Sequence[str]) -> Session:
    """A new turn in which these capabilities were found."""
    turn = session.turn + 1
    discovered = dict(session.discovered)
    for identifier in dict.fromkeys(ids):
        discovered[identifier] = Discovery(
            count=discovered[identifier].count + 1 if identifier in discovered else 1, turn=turn
        )
    return replace(session, turn=turn, discovered=_keep_latest(discovered))


def record_use(session: Session, identifier: str, result: str = "") -> Session:
    """The capability was used once more; `result` is "ok", "failed" or ""."""
    previous = session.used.get(identifier, Usage(count=0))
    now = Usage(
        count=previous.count + 1,
        ok=previous.ok + (result == "ok"),
        failed=previous.failed + (result == "failed"),
        last=result or previous.last,
        turn=session.turn,
    )
    return replace(session, used=_keep_latest({**session.used, identifier: now}))


def record_observation(session: Session, entities: Sequence[Entity]) -> Session:
    """A result was looked at and named these; one that was known moves to the end, with its latest
    name.
    """
    latest_entities = {
        (entity.type, entity.id): replace(entity, turn=session.turn) for entity in entities
    }
    older_entities = [
        entity for entity in session.entities if (entity.type, entity.id) not in latest_entities
    ]
    return replace(
        session,
        entities=tuple([*older_entities, *latest_entities.values()][-MAX_ENTITIES:]),
        observed=session.observed + 1,
        barren=session.barren + (not entities),
    )


def activate_capabilities(session: Session, ids: Sequence[str]) -> Session:
    """The capabilities are shown in every prompt from now on."""
    return replace(session, active=tuple(dict.fromkeys([*session.active, *ids]))[-MAX_IDS:])


def drop_capabilities(session: Session, ids: Sequence[str]) -> Session:
    """The capabilities are neither shown nor offered any more."""
    return replace(
        session,
        active=tuple(identifier for identifier in session.active if identifier not in ids),
        discovered={key: value for key, value in session.discovered.items() if key not in ids},
        used={key: value for key, value in session.used.items() if key not in ids},
    )


def add_note(session: Session, text: str) -> Session:
    """The line is kept, cut to 2,000 characters; what it says about the way of working is taken
    over.
    """
    note = SessionNote(text=one_line(text, MAX_NOTE), turn=session.turn)
    return replace(
        session, notes=(*session.notes, note)[-MAX_NOTES:], mode=next_mode(text, session.mode)
    )


def clear_session(session: Session, tools_only: bool) -> Session:
    """The session without anything, or without its capabilities alone, as after an agent's
    compaction.
    """
    if tools_only:
        return replace(session, discovered={}, used={}, active=())
    return Session(name=session.name, created=session.created, updated=session.updated)


def _keep_latest(counts: Mapping[str, _Counted]) -> dict[str, _Counted]:
    """At most MAX_IDS of them, those of the latest turns; the order in which they came."""
    if len(counts) <= MAX_IDS:
        return dict(counts)
    latest_ids = set(
        sorted(counts, key=lambda identifier: (-counts[identifier].turn, identifier))[:MAX_IDS]
    )
    return {key: value for key, value in counts.items() if key in latest_ids}
