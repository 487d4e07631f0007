"""Tier 0: the categories, at the length that fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Block, Context, DroppedBlock, Query, Ranking, Tier
from capdisc_indexer.rendering.formats.format import MORE_CATEGORIES
from capdisc_indexer.rendering.render_inputs import RenderJob


def build_overview(job: RenderJob, tokens_left: int) -> Tier:
    """Category lines at the longest length at which all fit; else as many of the shortest as fit,
    and a remainder.
    """
    categories = job.inputs.overview
    for length in range(len(categories[0]["lines"]) if categories else 0):
        blocks = [_category_block(job, entry, length) for entry in categories]
        if sum(block.tokens for block in blocks) <= tokens_left:
            return Tier(level=0, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks))
    return _build_shortest(job, tokens_left)


def min_overview_tokens(job: RenderJob) -> int:
    """The tokens of the least that an overview can be."""
    categories = job.inputs.overview
    if not categories:
        return 0
    remainder = _remainder_blocks(job, len(categories) - 1)
    return _category_block(job, categories[0], -1).tokens + sum(block.tokens for block in remainder)


def stable_overviews(job: RenderJob, cap: int) -> Iterator[Tier]:
    """The overview where only the printed text tells what it costs: a third of what is left beside
    the least that is printed, whatever is asked, so that it stays the same from turn to turn. Then
    shorter ones, for where what is asked leaves no room for that.
    """
    bare = _count_empty_query_tokens(job, ())
    max_tokens = job.budgets.total - bare
    max_tokens = max_tokens // 3 if {1, 2} & set(job.inputs.levels) else max_tokens
    for eighths in range(8, 0, -1):
        tier = build_overview(job, min(cap, max_tokens) * eighths // 8)
        if tier.blocks and _count_empty_query_tokens(job, (tier,)) - bare <= max_tokens:
            yield tier
    yield build_overview(job, min_overview_tokens(job))


def _count_empty_query_tokens(job: RenderJob, tiers: tuple[Tier, ...]) -> int:
    """The tokens of what is printed when nothing is asked and nothing found."""
    nothing = Ranking(query=Query(texts=()), hits=(), mode="", confidence=0.0)
    printing = replace(job.printing, split="", facts={}, request="")
    context = Context(
        ranking=nothing,
        tiers=tiers,
        tokens=0,
        budgets=job.budgets,
        tokenizer=job.counter.name,
        printing=printing,
    )
    return job.counter.exact(job.form.format_context(job.form, context))


def _build_shortest(job: RenderJob, tokens_left: int) -> Tier:
    blocks = [_category_block(job, entry, -1) for entry in job.inputs.overview]
    for count in range(len(blocks), 0, -1):
        remainder = _remainder_blocks(job, len(blocks) - count)
        used_tokens = sum(block.tokens for block in blocks[:count]) + sum(
            block.tokens for block in remainder
        )
        if used_tokens <= tokens_left:
            dropped = tuple(
                DroppedBlock(id=block.id, tier=0, tokens=block.tokens) for block in blocks[count:]
            )
            return Tier(
                level=0, blocks=(*blocks[:count], *remainder), tokens=used_tokens, dropped=dropped
            )
    return Tier(level=0, blocks=(), tokens=0)


def _category_block(job: RenderJob, entry: Mapping[str, Any], length: int) -> Block:
    return job.block(entry["category"], job.form.category(entry["lines"][length]))


def _remainder_blocks(job: RenderJob, count: int) -> tuple[Block, ...]:
    return (job.block("", job.form.category(MORE_CATEGORIES.format(count=count))),) if count else ()
