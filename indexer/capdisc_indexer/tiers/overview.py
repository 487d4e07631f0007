"""Tier 0: the categories, at the length that fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from capdisc_indexer.frozen import replace
from capdisc_indexer.render.format import MORE_CATEGORIES
from capdisc_indexer.tiers.material import Job
from capdisc_indexer.types import Block, Context, Dropped, Query, Ranking, Tier


def overview(job: Job, room: int) -> Tier:
    """Category lines at the longest length at which all fit; else as many of the shortest as fit, and a remainder."""
    categories = job.material.overview
    for length in range(len(categories[0]["lines"]) if categories else 0):
        blocks = [_category(job, each, length) for each in categories]
        if sum(block.tokens for block in blocks) <= room:
            return Tier(level=0, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks))
    return _shortest(job, room)


def smallest(job: Job) -> int:
    """The tokens of the least that an overview can be."""
    categories = job.material.overview
    if not categories:
        return 0
    rest = _remainder(job, len(categories) - 1)
    return _category(job, categories[0], -1).tokens + sum(block.tokens for block in rest)


def steady(job: Job, cap: int) -> Iterator[Tier]:
    """The overview where only the printed text tells what it costs: a third of what is left beside the least that is
    printed, whatever is asked, so that it stays the same from turn to turn. Then shorter ones, for where what is asked
    leaves no room for that."""
    bare = _cost(job, ())
    most = job.budgets.total - bare
    most = most // 3 if {1, 2} & set(job.material.levels) else most
    for eighths in range(8, 0, -1):
        tier = overview(job, min(cap, most) * eighths // 8)
        if tier.blocks and _cost(job, (tier,)) - bare <= most:
            yield tier
    yield overview(job, smallest(job))


def _cost(job: Job, tiers: tuple[Tier, ...]) -> int:
    """The tokens of what is printed when nothing is asked and nothing found."""
    nothing = Ranking(query=Query(texts=()), hits=(), mode="", confidence=0.0)
    printing = replace(job.printing, split="", facts={}, request="")
    context = Context(
        ranking=nothing, tiers=tiers, tokens=0, budgets=job.budgets, tokenizer=job.counter.name, printing=printing
    )
    return job.counter.exact(job.form.printed(job.form, context))


def _shortest(job: Job, room: int) -> Tier:
    blocks = [_category(job, each, -1) for each in job.material.overview]
    for kept in range(len(blocks), 0, -1):
        rest = _remainder(job, len(blocks) - kept)
        used = sum(block.tokens for block in blocks[:kept]) + sum(block.tokens for block in rest)
        if used <= room:
            dropped = tuple(Dropped(id=block.id, tier=0, tokens=block.tokens) for block in blocks[kept:])
            return Tier(level=0, blocks=(*blocks[:kept], *rest), tokens=used, dropped=dropped)
    return Tier(level=0, blocks=(), tokens=0)


def _category(job: Job, each: Mapping[str, Any], length: int) -> Block:
    return job.block(each["category"], job.form.category(each["lines"][length]))


def _remainder(job: Job, count: int) -> tuple[Block, ...]:
    return (job.block("", job.form.category(MORE_CATEGORIES.format(count=count))),) if count else ()
