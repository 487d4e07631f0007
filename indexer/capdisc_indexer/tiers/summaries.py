"""Tier 1: a line for each of the first hits, shortened before any is left out."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc_indexer.render.lines import name_line, shorter_descriptions, shorter_lines, summary_line
from capdisc_indexer.tiers.material import Job
from capdisc_indexer.types import Block, Descriptor, Dropped, Tier


def summaries(job: Job, room: int) -> Tier:
    """The lines in full when all fit; else each as long as leaves the later ones room for their shortest."""
    found = [d for d in job.material.descriptors if job.form.suits(d)][: job.material.summaries]
    wanted = {d.id: d for d in (*filter(job.form.suits, job.material.always), *found)}
    blocks, dropped = lines(job, list(wanted.values()), room, 1)
    return Tier(level=1, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks), dropped=tuple(dropped))


def lines(job: Job, wanted: Sequence[Descriptor], room: int, level: int) -> tuple[list[Block], list[Dropped]]:
    """The lines of these capabilities within so many tokens, and what was shortened or left out for it."""
    full = [job.block(d.id, _full(job, d)) for d in wanted]
    if sum(block.tokens for block in full) <= room:
        return full, []
    choices = [sorted([first, *_shorter(job, d)], key=_tokens) for first, d in zip(full, wanted, strict=True)]
    least = [choice[0].tokens for choice in choices]
    kept = _kept(least, room)
    room -= sum(least[i] for i in kept)
    blocks: list[Block] = []
    for i in kept:
        room += least[i]
        blocks.append(next(each for each in reversed(choices[i]) if each.tokens <= room))
        room -= blocks[-1].tokens
    return blocks, _dropped(full, blocks, level)


def _tokens(block: Block) -> int:
    return block.tokens


def _kept(least: Sequence[int], room: int) -> list[int]:
    """Which of them have room in their shortest form, the first ones first; one that has none stops no other."""
    kept = []
    for i, tokens in enumerate(least):
        if tokens <= room:
            kept.append(i)
            room -= tokens
    return kept


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
