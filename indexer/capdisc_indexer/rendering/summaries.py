"""Tier 1: a line for each of the first hits, shortened before any is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from capdisc_indexer.model.types import Block, Descriptor, DroppedBlock, Tier
from capdisc_indexer.rendering.templates import Descriptors, RenderJob
from capdisc_indexer.rendering.token_accounting import (
    name_line,
    shorter_descriptions,
    shorter_lines,
    summary_line,
)

# One that has no room stops no other; but of many that have none, one after the other, it is
# believed. Without that, the last words of a budget were sought in all of 80,000 capabilities.
_PATIENCE = 200


def build_summaries(job: RenderJob, tokens_left: int) -> Tier:
    """The lines in full when all fit; else each as long as leaves the later ones room for their
    shortest.
    """
    return fit_lines(job, _wanted(job), tokens_left, 1)


def _wanted(job: RenderJob) -> Descriptors:
    """What is always shown, then the first of what was found, or all of it, each once."""
    always = [d for d in job.inputs.pinned_summaries if job.form.suits(d.kind)]
    if job.inputs.summaries is None:
        return _Joined(always, job.inputs.descriptors)
    suitable = (d for d in job.inputs.descriptors if job.form.suits(d.kind))
    return list({d.id: d for d in (*always, *islice(suitable, job.inputs.summaries))}.values())


class _Joined:
    """Some capabilities, and those after them that suit the format."""

    def __init__(self, first: Sequence[Descriptor], rest: Descriptors) -> None:
        self._first, self._rest = first, rest

    def __iter__(self) -> Iterator[Descriptor]:
        return chain(self._first, self._rest)

    def __len__(self) -> int:
        return len(self._first) + len(self._rest)


def fit_lines(job: RenderJob, descriptors: Descriptors, tokens_left: int, level: int) -> Tier:
    """The lines of these capabilities within so many tokens, and what was shortened or left out
    for it.
    """
    full = _in_full(job, descriptors, tokens_left)
    if full is not None:
        return _tier(level, full, [])
    fitting, looked_at = _with_room(job, descriptors, tokens_left)
    tokens_left -= sum(choice[0].tokens for choice in fitting)
    blocks: list[Block] = []
    for choice in fitting:
        tokens_left += choice[0].tokens
        blocks.append(next(block for block in reversed(choice) if block.tokens <= tokens_left))
        tokens_left -= blocks[-1].tokens
    return _tier(
        level, blocks, _list_dropped(looked_at, blocks, level), len(descriptors) - len(looked_at)
    )


def _tier(
    level: int, blocks: Sequence[Block], dropped: Sequence[DroppedBlock], omitted: int = 0
) -> Tier:
    tokens = sum(block.tokens for block in blocks)
    return Tier(
        level=level, blocks=tuple(blocks), tokens=tokens, dropped=tuple(dropped), omitted=omitted
    )


def _in_full(job: RenderJob, wanted: Descriptors, room: int) -> list[Block] | None:
    """All of their lines in full; None where those have more tokens than that."""
    blocks: list[Block] = []
    for d in wanted:
        blocks.append(job.block(d.id, _format_full(job, d)))
        room -= blocks[-1].tokens
        if room < 0:
            return None
    return blocks


def _with_room(
    job: RenderJob, wanted: Descriptors, room: int
) -> tuple[list[list[Block]], list[Block]]:
    """The choice of lines, shortest first, of each that has room in its shortest form, the first
    ones first; and the full lines of all that were looked at.
    """
    kept: list[list[Block]] = []
    looked_at: list[Block] = []
    in_vain = 0
    for d in wanted:
        full = job.block(d.id, _format_full(job, d))
        looked_at.append(full)
        choice = sorted([full, *_shorter_blocks(job, d)], key=_token_count)
        if choice[0].tokens <= room:
            kept.append(choice)
            room -= choice[0].tokens
            in_vain = 0
        elif (in_vain := in_vain + 1) == _PATIENCE:
            break
    return kept, looked_at


def _token_count(block: Block) -> int:
    return block.tokens


def _list_dropped(full: Sequence[Block], blocks: Sequence[Block], level: int) -> list[DroppedBlock]:
    shown_tokens = {block.id: block.tokens for block in blocks}
    return [
        DroppedBlock(id=block.id, tier=level, tokens=block.tokens, clipped=block.id in shown_tokens)
        for block in full
        if shown_tokens.get(block.id, -1) < block.tokens
    ]


def _format_full(job: RenderJob, d: Descriptor) -> str:
    line = (
        name_line(d)
        if job.inputs.ids_only
        else summary_line(d, job.inputs.note(d), job.inputs.hints)
    )
    return job.form.summary(d, line)


def _shorter_blocks(job: RenderJob, d: Descriptor) -> list[Block]:
    if 0 not in job.form.levels:  # no line: the capability itself is told with fewer words
        return [
            job.block(d.id, job.form.summary(shortened, ""))
            for shortened in shorter_descriptions(d)
        ]
    lines = [name_line(d)] if job.inputs.ids_only else shorter_lines(d, job.inputs.note(d))
    return [job.block(d.id, job.form.summary(d, line)) for line in lines]
