"""Builds tier 1: a line for each of the first hits, shortened before any is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from capdisc_indexer.model.types import Block, Descriptor, DroppedBlock, Tier
from capdisc_indexer.rendering.capability_text import (
    name_line,
    pointer_line,
    short_line,
    shorter_descriptions,
    shorter_lines,
    shortest_line,
    summary_line,
)
from capdisc_indexer.rendering.render_job import ANSWER_TOKENS, Descriptors, RenderJob

# After so many lines in a row that do not fit, no more are tried. Without a limit, a shorter line
# for the last tokens of a budget was looked for in all of 80,000 capabilities.
_MAX_MISSES = 200
# Short lines take at most a quarter of what a budget has above ANSWER_TOKENS, before the details are
# built; afterwards they take what is left. Without that limit, the text of the best hit had no
# room in 500 tokens.
_SHORT_LINES_DIVISOR = 4


def build_summaries(job: RenderJob, tokens_left: int) -> Tier:
    """Tier 1 of at most so many tokens: first lines in full, then short lines.

    A line in full is shortened where another one of them would not fit at all. The short lines share
    what is left. Those that do not fit are counted, not named: in JSON their names would cost as
    many tokens as the lines.
    """
    descriptors, count = _select_descriptors(job), job.inputs.full_summaries
    if job.inputs.summaries is None or count is None:
        return fit_lines(job, descriptors, tokens_left, 1)
    listed = list(descriptors)
    count += sum(d.id in {pinned.id for pinned in job.inputs.pinned_summaries} for d in listed)
    first = fit_lines(job, listed[:count], tokens_left, 1)
    short_lines_tokens = min(tokens_left - first.tokens, _tokens_beside_details(job))
    others = fit_lines(job, listed[count:], short_lines_tokens, 1, is_short=True)
    left_out = sum(not block.clipped for block in others.dropped)
    return _tier(1, [*first.blocks, *others.blocks], first.dropped, left_out)


def _tokens_beside_details(job: RenderJob) -> int:
    """The most tokens of the short lines: few as long as the details have not taken theirs."""
    has_details = 2 in job.inputs.levels and 2 in job.form.levels
    if job.in_full is not None or not has_details:
        return job.budgets.total
    return max(0, job.budgets.total - ANSWER_TOKENS) // _SHORT_LINES_DIVISOR


def _select_descriptors(job: RenderJob) -> Descriptors:
    """The pinned capabilities, then the first hits, or all of them, each once."""
    pinned = [d for d in job.inputs.pinned_summaries if job.form.suits(d.kind)]
    if job.inputs.summaries is None:
        return _ChainedDescriptors(pinned, job.inputs.descriptors)
    suitable = (d for d in job.inputs.descriptors if job.form.suits(d.kind))
    return list({d.id: d for d in (*pinned, *islice(suitable, job.inputs.summaries))}.values())


class _ChainedDescriptors:
    """A few capabilities, then many that need not be in memory."""

    def __init__(self, pinned: Sequence[Descriptor], hits: Descriptors) -> None:
        self._pinned, self._hits = pinned, hits

    def __iter__(self) -> Iterator[Descriptor]:
        return chain(self._pinned, self._hits)

    def __len__(self) -> int:
        return len(self._pinned) + len(self._hits)


def fit_lines(
    job: RenderJob,
    descriptors: Descriptors,
    tokens_left: int,
    level: int,
    *,
    is_short: bool = False,
) -> Tier:
    """A tier of lines for these capabilities, none of them long where `is_short`, of at most so many
    tokens; `dropped` names what was shortened or left out for it.
    """
    full_lines = _fit_full_lines(job, descriptors, tokens_left, is_short)
    if full_lines is not None:
        return _tier(level, full_lines, [])
    choices, tried = _fit_shortest_lines(job, descriptors, tokens_left, is_short)
    tokens_left -= sum(choice[0].tokens for choice in choices)
    blocks: list[Block] = []
    for choice in choices:
        tokens_left += choice[0].tokens
        blocks.append(next(block for block in reversed(choice) if block.tokens <= tokens_left))
        tokens_left -= blocks[-1].tokens
    return _tier(level, blocks, _list_dropped(tried, blocks, level), len(descriptors) - len(tried))


def _tier(
    level: int, blocks: Sequence[Block], dropped: Sequence[DroppedBlock], omitted: int = 0
) -> Tier:
    tokens = sum(block.tokens for block in blocks)
    return Tier(
        level=level, blocks=tuple(blocks), tokens=tokens, dropped=tuple(dropped), omitted=omitted
    )


def _fit_full_lines(
    job: RenderJob, descriptors: Descriptors, tokens_left: int, is_short: bool
) -> list[Block] | None:
    """All lines in full; None where they have more tokens than that."""
    blocks: list[Block] = []
    for d in descriptors:
        blocks.append(_full_block(job, d, is_short))
        tokens_left -= blocks[-1].tokens
        if tokens_left < 0:
            return None
    return blocks


def _fit_shortest_lines(
    job: RenderJob, descriptors: Descriptors, tokens_left: int, is_short: bool
) -> tuple[list[list[Block]], list[Block]]:
    """The lines to choose from, shortest first, of each capability whose shortest line fits; and
    the full lines of all that were tried.
    """
    choices: list[list[Block]] = []
    tried: list[Block] = []
    misses = 0
    for d in descriptors:
        full_line = _full_block(job, d, is_short)
        tried.append(full_line)
        choice = sorted([full_line, *_shorter_blocks(job, d)], key=_token_count)
        if choice[0].tokens <= tokens_left:
            choices.append(choice)
            tokens_left -= choice[0].tokens
            misses = 0
        else:
            misses += 1
            if misses == _MAX_MISSES:
                break
    return choices, tried


def _token_count(block: Block) -> int:
    return block.tokens


def _list_dropped(
    full_lines: Sequence[Block], blocks: Sequence[Block], level: int
) -> list[DroppedBlock]:
    shown_tokens = {block.id: block.tokens for block in blocks}
    return [
        DroppedBlock(
            id=block.id, tier=level, tokens=block.tokens, clipped=block.id in shown_tokens
        )
        for block in full_lines
        if shown_tokens.get(block.id, -1) < block.tokens
    ]


def _full_block(job: RenderJob, d: Descriptor, is_short: bool) -> Block:
    """The longest line of the capability, made once for a job."""
    key = (d.id, f"{is_short}", f"{d.id in (job.in_full or ())}")
    if key not in job.lines:
        job.lines[key] = [_line_block(job, d, _full_line(job, d, is_short))]
    return job.lines[key][0]


def _full_line(job: RenderJob, d: Descriptor, is_short: bool) -> str:
    """The longest line of the capability."""
    inputs, note = job.inputs, job.inputs.note(d)
    if inputs.ids_only:
        return name_line(d)
    if d.id in (job.in_full or ()):
        return pointer_line(d, note)
    return short_line(d, note) if is_short else summary_line(d, note, inputs.hints)


def _shorter_blocks(job: RenderJob, d: Descriptor) -> list[Block]:
    key = (d.id, "shorter", f"{d.id in (job.in_full or ())}")
    if key not in job.lines:
        job.lines[key] = _make_shorter_blocks(job, d)
    return job.lines[key]


def _make_shorter_blocks(job: RenderJob, d: Descriptor) -> list[Block]:
    if 0 not in job.form.levels:  # the format prints the description itself instead of a line
        return [_line_block(job, shortened, "") for shortened in shorter_descriptions(d)]
    if job.inputs.ids_only:
        lines = [name_line(d)]
    elif d.id in (job.in_full or ()):
        lines = [shortest_line(d)]
    else:
        lines = shorter_lines(d, job.inputs.note(d))
    return [_line_block(job, d, line) for line in lines]


def _line_block(job: RenderJob, d: Descriptor, line: str) -> Block:
    """The line with the path of the capability's file."""
    path = job.location(d).path
    pieces = (job.form.summary(d, line, path), job.form.location(path))
    return Block(id=d.id, text="".join(pieces), tokens=sum(map(job.counter.count, pieces)))
