"""What stands beside the tiers: what the caller adds, and what a session remembers."""

from __future__ import annotations

from capdisc_indexer.render.format import ADDED, MEMORY, SHORTENED
from capdisc_indexer.text import plain
from capdisc_indexer.tiers.fitting import enclosed
from capdisc_indexer.tiers.material import Job
from capdisc_indexer.types import Block, Dropped, Tier


def added(job: Job, room: int) -> Tier:
    """The caller's own texts, as they are but for control characters; all of them have half of the room at most."""
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    room = room // 2 if {1, 2} & set(job.material.levels) else room
    for number, text in enumerate(job.material.added, 1):
        block, whole = enclosed(job, f"append:{number}", ((), _text(text), ()), SHORTENED, room)
        room -= block.tokens if block else 0
        blocks += [block] if block else []
        if block is None or block.tokens < whole:
            dropped.append(Dropped(id=f"append:{number}", tier=ADDED, tokens=whole, clipped=block is not None))
    return _tier(ADDED, blocks, dropped)


def memory(job: Job, room: int) -> Tier:
    """The session's memory, which shortens itself."""
    if job.material.memory is None or room <= 0:
        return _tier(MEMORY, [], [])
    lines = job.material.memory(room, lambda text: job.counter.count(job.form.chunk(text)))
    blocks = [job.block("memory", job.form.chunk("".join(f"{line}\n" for line in lines)))] if lines else []
    return _tier(MEMORY, blocks, [])


def _text(text: str) -> str:
    """The text with a beginning that does not run together with the heading before it (see tokens.py)."""
    kept = plain(text).strip() + "\n"
    return f" {kept}" if kept.startswith("/") else kept


def _tier(level: int, blocks: list[Block], dropped: list[Dropped]) -> Tier:
    return Tier(level=level, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks), dropped=tuple(dropped))
