"""What a session brings into a prompt, and what it learns from it."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc import asking, output
from capdisc.rendering.finding import Stored
from capdisc_indexer.frozen import frozen
from capdisc_indexer.tiers.material import Memory
from capdisc_indexer.types import Query


@frozen(kw_only=True)
class Brought:
    """The session's lines, shortened as needed, and the capabilities that it always shows in full."""

    memory: Memory | None = None
    active: tuple[Stored, ...] = ()


def brought(asked: asking.Asked, name: str | None) -> Brought:
    """What the session has so far; nothing where none is named, or it is new."""
    if name is None:
        return Brought()
    from capdisc_indexer import session

    there = session.exists(asked.here.state_dir(), name)
    if not there:
        return Brought()
    known = session.load(asked.here.state_dir(), name)
    return Brought(
        memory=lambda room, count: session.memory_within(known, room, count), active=_active(asked, known.active)
    )


def _active(asked: asking.Asked, ids: Sequence[str]) -> tuple[Stored, ...]:
    heads = asked.index.documents.passing(ids, Query(texts=())) if ids else {}
    for each in (each for each in ids if each not in heads):
        output.notice(f"notice: {each} is active and no longer in the index")
    return tuple(asked.index.with_counts(heads[each]) for each in ids if each in heads)
