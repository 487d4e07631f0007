"""What happens to a session, each step a function from the last state to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from capdisc_indexer.frozen import replace
from capdisc_indexer.session.modes import mode_after
from capdisc_indexer.session.values import (
    MAX_ENTITIES,
    MAX_IDS,
    MAX_NOTE,
    MAX_NOTES,
    Entity,
    Found,
    Note,
    Session,
    Used,
)
from capdisc_indexer.text import one_line

_Kept = TypeVar("_Kept", Found, Used)


def found(session: Session, ids: Sequence[str]) -> Session:
    """A new turn in which these capabilities were found."""
    turn = session.turn + 1
    known = dict(session.discovered)
    for each in dict.fromkeys(ids):
        known[each] = Found(count=known[each].count + 1 if each in known else 1, turn=turn)
    return replace(session, turn=turn, discovered=_latest(known))


def used(session: Session, identifier: str, result: str = "") -> Session:
    """The capability was used once more; `result` is "ok", "failed" or ""."""
    last = session.used.get(identifier, Used(count=0))
    now = Used(
        count=last.count + 1,
        ok=last.ok + (result == "ok"),
        failed=last.failed + (result == "failed"),
        last=result or last.last,
        turn=session.turn,
    )
    return replace(session, used=_latest({**session.used, identifier: now}))


def observed(session: Session, entities: Sequence[Entity]) -> Session:
    """A result was looked at and named these; one that was known moves to the end, with its latest name."""
    fresh = {(each.type, each.id): replace(each, turn=session.turn) for each in entities}
    kept = [each for each in session.entities if (each.type, each.id) not in fresh]
    return replace(
        session,
        entities=tuple([*kept, *fresh.values()][-MAX_ENTITIES:]),
        observed=session.observed + 1,
        barren=session.barren + (not entities),
    )


def added(session: Session, ids: Sequence[str]) -> Session:
    """The capabilities are shown in every prompt from now on."""
    return replace(session, active=tuple(dict.fromkeys([*session.active, *ids]))[-MAX_IDS:])


def dropped(session: Session, ids: Sequence[str]) -> Session:
    """The capabilities are neither shown nor offered any more."""
    return replace(
        session,
        active=tuple(each for each in session.active if each not in ids),
        discovered={key: value for key, value in session.discovered.items() if key not in ids},
        used={key: value for key, value in session.used.items() if key not in ids},
    )


def noted(session: Session, text: str) -> Session:
    """The line is kept, cut to 2,000 characters; what it says about the way of working is taken over."""
    note = Note(text=one_line(text, MAX_NOTE), turn=session.turn)
    return replace(session, notes=(*session.notes, note)[-MAX_NOTES:], mode=mode_after(text, session.mode))


def cleared(session: Session, tools_only: bool) -> Session:
    """The session without anything, or without its capabilities alone, as after an agent's compaction."""
    if tools_only:
        return replace(session, discovered={}, used={}, active=())
    return Session(name=session.name, created=session.created, updated=session.updated)


def _latest(known: Mapping[str, _Kept]) -> dict[str, _Kept]:
    """At most MAX_IDS of them, those of the latest turns; the order in which they came."""
    if len(known) <= MAX_IDS:
        return dict(known)
    kept = set(sorted(known, key=lambda each: (-known[each].turn, each))[:MAX_IDS])
    return {key: value for key, value in known.items() if key in kept}
