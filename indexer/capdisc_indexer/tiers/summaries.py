"""Tier 1: a line for each of the first hits, shortened before any is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from capdisc_indexer.render.lines import name_line, shorter_descriptions, shorter_lines, summary_line
from capdisc_indexer.tiers.material import Descriptors, Job
from capdisc_indexer.types import Block, Descriptor, Dropped, Tier

# One that has no room stops no other; but of many that have none, one after the other, it is believed. Without that,
# the last words of a budget were sought in all of 80,000 capabilities.
_PATIENCE = 200


def summaries(job: Job, room: int) -> Tier:
    """The lines in full when all fit; else each as long as leaves the later ones room for their shortest."""
    return lines(job, _wanted(job), room, 1)


def _wanted(job: Job) -> Descriptors:
    """What is always shown, then the first of what was found, or all of it, each once."""
    always = [d for d in job.material.always if job.form.suits(d.kind)]
    if job.material.summaries is None:
        return _Joined(always, job.material.descriptors)
    suitable = (d for d in job.material.descriptors if job.form.suits(d.kind))
    return list({d.id: d for d in (*always, *islice(suitable, job.material.summaries))}.values())


class _Joined:
    """Some capabilities, and those after them that suit the format."""

    def __init__(self, first: Sequence[Descriptor], rest: Descriptors) -> None:
        self._first, self._rest = first, rest

    def __iter__(self) -> Iterator[Descriptor]:
        return chain(self._first, self._rest)

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)


def lines(job: Job, wanted: Descriptors, room: int, level: int) -> Tier:
    """The lines of these capabilities within so many tokens, and what was shortened or left out for it."""
    full = _in_full(job, wanted, room)
    if full is not None:
        return _tier(level, full, [])
    kept, looked_at = _with_room(job, wanted, room)
    room -= sum(choice[0].tokens for choice in kept)
    blocks: list[Block] = []
    for choice in kept:
        room += choice[0].tokens
        blocks.append(next(block for block in reversed(choice) if block.tokens <= room))
        room -= blocks[-1].tokens
    return _tier(level, blocks, _dropped(looked_at, blocks, level), len(wanted) - len(looked_at))


def _tier(level: int, blocks: Sequence[Block], dropped: Sequence[Dropped], omitted: int = 0) -> Tier:
    tokens = sum(block.tokens for block in blocks)
    return Tier(level=level, blocks=tuple(blocks), tokens=tokens, dropped=tuple(dropped), omitted=omitted)


def _in_full(job: Job, wanted: Descriptors, room: int) -> list[Block] | None:
    """All of their lines in full; None where those have more tokens than that."""
    blocks: list[Block] = []
    for d in wanted:
        blocks.append(job.block(d.id, _full(job, d)))
        room -= blocks[-1].tokens
        if room < 0:
            return None
    return blocks


def _with_room(job: Job, wanted: Descriptors, room: int) -> tuple[list[list[Block]], list[Block]]:
    """The choice of lines, shortest first, of each that has room in its shortest form, the first ones first; and the
    full lines of all that were looked at."""
    kept: list[list[Block]] = []
    looked_at: list[Block] = []
    in_vain = 0
    for d in wanted:
        full = job.block(d.id, _full(job, d))
        looked_at.append(full)
        choice = sorted([full, *_shorter(job, d)], key=_tokens)
        if choice[0].tokens <= room:
            kept.append(choice)
            room -= choice[0].tokens
            in_vain = 0
        elif (in_vain := in_vain + 1) == _PATIENCE:
            break
    return kept, looked_at


def _tokens(block: Block) -> int:
    return block.tokens


def _dropped(full: Sequence[Block], blocks: Sequence[Block], level: int) -> list[Dropped]:
    shown = {block.id: block.tokens for block in blocks}
    return [
        Dropped(id=block.id, tier=level, tokens=block.tokens, clipped=block.id in shown)
        for block in full
        if shown.get(block.id, -1) < block.tokens
    ]


def _full(job: Job, d: Descriptor) -> str:
    line = name_line(d) if job.material.names else summary_line(d, job.material.note(d), job.material.hints)
    return job.form.summary(d, line)


def _shorter(job: Job, d: Descriptor) -> list[Block]:
    if 0 not in job.form.levels:  # no line: the capability itself is told with fewer words
        return [job.block(d.id, job.form.summary(each, "")) for each in shorter_descriptions(d)]
    made = [name_line(d)] if job.material.names else shorter_lines(d, job.material.note(d))
    return [job.block(d.id, job.form.summary(d, line)) for line in made]
