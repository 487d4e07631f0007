"""Choose what goes into each tier, within hard limits on tokens of printed text.

Tier 0 is an overview of the categories and depends on catalogue and budget alone, so that prompt caches hold; tier 1
has a line for each of the first hits; tier 2 the best ones in full. What a tier does not use, the next may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from capdisc_indexer.errors import UsageError
from capdisc_indexer.render.content import detail_text
from capdisc_indexer.render.format import CLIPPED, MORE_CATEGORIES, Format
from capdisc_indexer.tokens import TokenCounter, chunks
from capdisc_indexer.types import Block, Budgets, Context, Descriptor, Dropped, Ranking, Tier

TOP_SUMMARIES = 5
TOP_DETAILS = 2
# Below this a detail would show little more than its summary does.
_WORTHWHILE = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What the tiers are made from: overview lines, long to short, and the capabilities, best first (`summaries`
    None: a line for each)."""

    overview: Sequence[Mapping[str, Any]]
    descriptors: Sequence[Descriptor]
    levels: tuple[int, ...] = (0, 1, 2)
    summaries: int | None = TOP_SUMMARIES
    details: int = TOP_DETAILS


def assemble(material: Material, ranking: Ranking, form: Format, budgets: Budgets, counter: TokenCounter) -> Context:
    """The context whose printed text has at most `budgets.total` tokens. Raises UsageError when not even the
    shortest overview fits."""
    if form.additive:
        return _assembled(material, ranking, form, budgets, budgets.total, counter)
    return _largest(material, ranking, form, budgets, counter)


def _largest(material: Material, ranking: Ranking, form: Format, budgets: Budgets, counter: TokenCounter) -> Context:
    """The fullest context whose whole text fits, by bisection: where pieces are escaped or wrapped, only the printed
    text tells. Too little room for the overview means more, a text that is too long means less."""
    low, high, best = 0, budgets.total, None
    while low <= high:
        allowed = (low + high) // 2
        try:
            context = _assembled(material, ranking, form, budgets, allowed, counter)
        except UsageError:
            low = allowed + 1
            continue
        tokens = counter.exact(form.printed(form, context))
        if tokens <= budgets.total:
            best, low = replace(context, tokens=tokens), allowed + 1
        else:
            high = allowed - 1
    if best is None:
        raise _too_small(material, form, budgets.total)
    return best


def _assembled(
    material: Material, ranking: Ranking, form: Format, budgets: Budgets, allowed: int, counter: TokenCounter
) -> Context:
    left = allowed - counter.count(form.opening) - counter.count(form.closing)
    makers = (_overview, _summaries, _details)
    tiers = []
    for level, cap in zip(range(3), (budgets.tier0, budgets.tier1, budgets.tier2), strict=True):
        if level not in form.levels or level not in material.levels or not cap:
            continue
        frame = counter.count(form.headings[level]) + counter.count(form.endings[level])
        room = min(cap, left) - frame
        if level == 0 and {1, 2} & set(material.levels):
            # A small budget belongs to the answer: the overview gets a third, or the least that it can be. Whether
            # there is an answer does not matter, so that the overview stays the same from turn to turn.
            room = min(room, max(left // 3 - frame, _smallest_overview(material, form, counter)))
        tier = makers[level](material, form, room, counter)
        if level == 0 and material.overview and not tier.blocks:
            raise _too_small(material, form, budgets.total)
        tier = replace(tier, tokens=tier.tokens + (frame if tier.blocks else 0))
        left -= tier.tokens
        tiers.append(tier)
    tokens = allowed - left if any(tier.blocks for tier in tiers) else 0
    return Context(ranking=ranking, tiers=tuple(tiers), tokens=tokens, budgets=budgets, tokenizer=counter.name)


def _too_small(material: Material, form: Format, budget: int) -> UsageError:
    if material.overview and 0 in material.levels and 0 in form.levels:
        message, hint = "not even the shortest overview fits", ", or leave the overview out with --tier 1,2"
    else:
        message, hint = "not even an empty document of this format fits", ""
    return UsageError(f"a budget of {budget} tokens is too small: {message}", f"give a larger --budget{hint}")


def _overview(material: Material, form: Format, budget: int, counter: TokenCounter) -> Tier:
    """Category lines at the longest length at which all fit; else as many of the shortest as fit, and a remainder."""
    for length in range(len(material.overview[0]["lines"]) if material.overview else 0):
        blocks = [_category(form, each, length, counter) for each in material.overview]
        if sum(block.tokens for block in blocks) <= budget:
            return Tier(level=0, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks))
    return _shortest_overview(material, form, budget, counter)


def _shortest_overview(material: Material, form: Format, budget: int, counter: TokenCounter) -> Tier:
    blocks = [_category(form, each, -1, counter) for each in material.overview]
    for kept in range(len(blocks), 0, -1):
        rest = _remainder(form, len(blocks) - kept, counter)
        used = sum(block.tokens for block in blocks[:kept]) + sum(block.tokens for block in rest)
        if used <= budget:
            dropped = tuple(Dropped(id=block.id, tier=0, tokens=block.tokens) for block in blocks[kept:])
            return Tier(level=0, blocks=(*blocks[:kept], *rest), tokens=used, dropped=dropped)
    return Tier(level=0, blocks=(), tokens=0)


def _smallest_overview(material: Material, form: Format, counter: TokenCounter) -> int:
    if not material.overview:
        return 0
    rest = _remainder(form, len(material.overview) - 1, counter)
    return _category(form, material.overview[0], -1, counter).tokens + sum(block.tokens for block in rest)


def _category(form: Format, each: Mapping[str, Any], length: int, counter: TokenCounter) -> Block:
    return _block(each["category"], form.category(each["lines"][length]), counter)


def _remainder(form: Format, count: int, counter: TokenCounter) -> tuple[Block, ...]:
    return (_block("", form.category(MORE_CATEGORIES.format(count=count)), counter),) if count else ()


def _block(identifier: str, text: str, counter: TokenCounter) -> Block:
    return Block(id=identifier, text=text, tokens=counter.count(text))


def _summaries(material: Material, form: Format, budget: int, counter: TokenCounter) -> Tier:
    """One line each, in order; one that does not fit is reported and the next is still tried."""
    wanted = [d for d in material.descriptors if form.suits(d)][: material.summaries]
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    for block in (_block(d.id, form.summary(d), counter) for d in wanted):
        if block.tokens <= budget:
            blocks.append(block)
            budget -= block.tokens
        else:
            dropped.append(Dropped(id=block.id, tier=1, tokens=block.tokens))
    return Tier(level=1, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks), dropped=tuple(dropped))


def _details(material: Material, form: Format, budget: int, counter: TokenCounter) -> Tier:
    """The best ones in full; what is too long is cut at a line end and marked, never left out silently."""
    blocks: list[Block] = []
    dropped: list[Dropped] = []
    for descriptor in material.descriptors[: material.details]:
        block, whole = _detail(descriptor, form, budget, counter)
        if block is not None:
            blocks.append(block)
            budget -= block.tokens
        if block is None or block.tokens < whole:
            dropped.append(Dropped(id=descriptor.id, tier=2, tokens=whole, clipped=block is not None))
    return Tier(level=2, blocks=tuple(blocks), tokens=sum(block.tokens for block in blocks), dropped=tuple(dropped))


def _detail(descriptor: Descriptor, form: Format, budget: int, counter: TokenCounter) -> tuple[Block | None, int]:
    """The capability's frame around as many chunks as fit, and the tokens of the whole."""
    start, end = form.detail_open(descriptor), form.detail_close(descriptor)
    frame = counter.count(start) + counter.count(end)
    pieces = [form.detail_chunk(chunk) for chunk in chunks(detail_text(descriptor))]
    whole = frame + sum(counter.count(piece) for piece in pieces)
    if whole <= budget:
        return Block(id=descriptor.id, text="".join([start, *pieces, end]), tokens=whole), whole
    mark = form.detail_chunk(CLIPPED.format(id=descriptor.id))
    kept, used = _fitting(pieces, budget - frame - counter.count(mark), counter)
    used += frame + counter.count(mark)
    if not kept or used > budget or used < min(_WORTHWHILE, whole):
        return None, whole
    return Block(id=descriptor.id, text="".join([start, *kept, mark, end]), tokens=used), whole


def _fitting(pieces: Sequence[str], budget: int, counter: TokenCounter) -> tuple[list[str], int]:
    kept: list[str] = []
    used = 0
    for piece in pieces:
        if used + counter.count(piece) > budget:
            break
        kept.append(piece)
        used += counter.count(piece)
    return kept, used
