"""Builds tier 0, the overview of categories, and tier 2, the best capabilities in full after the
guidance of their categories.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CategoryRecord
from capdisc_indexer.model.types import (
    Block,
    Context,
    Descriptor,
    DroppedBlock,
    Query,
    Ranking,
    Tier,
)
from capdisc_indexer.rendering.capability_text import guidance_id, guidance_text
from capdisc_indexer.rendering.excerpt import frame_excerpt
from capdisc_indexer.rendering.render_format import MORE_CATEGORIES
from capdisc_indexer.rendering.render_job import ANSWER_TOKENS, RenderJob, list_dropped, make_tier
from capdisc_indexer.rendering.summaries import fit_lines
from capdisc_indexer.rendering.truncation import MIN_DETAIL_TOKENS, frame_text

# Tier 0.


def fit_categories(
    categories: Sequence[CategoryRecord], fits: Callable[[Sequence[str], int], bool]
) -> list[str]:
    """The lines of the categories at the longest length at which all fit, and of as many of the
    first as fit the next longer line; else of as many categories the shortest as fit. `fits` is
    called with lines, and with how many categories they leave out.
    """
    lengths = max((len(category["lines"]) for category in categories), default=0)
    for length in range(lengths):
        lines = _lines_of_length(categories, lengths - length)
        if fits(lines, 0):
            longer = _lines_of_length(categories, lengths - length + 1)
            return _lengthen_first(longer, lines, fits) if length else lines
    shortest = _lines_of_length(categories, 1)
    count = bisect_left(
        range(1, len(shortest)),
        True,
        key=lambda number: not fits(shortest[:number], len(shortest) - number),
    )
    return shortest[:count]


def _lines_of_length(categories: Sequence[CategoryRecord], place: int) -> list[str]:
    """The line of each category at this place from the shortest one (1), or its longest: of two
    kinds in an overview by kind, one may have too many names for the longest.
    """
    return [category["lines"][-min(place, len(category["lines"]))] for category in categories]


def _lengthen_first(
    longer: Sequence[str], lines: Sequence[str], fits: Callable[[Sequence[str], int], bool]
) -> list[str]:
    """The lines, with the longer ones in place of as many of the first as fit."""
    count = bisect_left(
        range(1, len(lines)),
        True,
        key=lambda number: not fits([*longer[:number], *lines[number:]], 0),
    )
    return [*longer[:count], *lines[count:]]


def build_overview(job: RenderJob, tokens_left: int) -> Tier:
    """Tier 0 of at most `tokens_left` tokens: what `fit_categories` chooses, and how many more
    there are.
    """
    categories = job.inputs.overview
    # Lines are counted again and again until the longest that fit are found.
    count_line = cache(lambda line: job.counter.count(job.form.category(line)))

    def fits(lines: Sequence[str], omitted: int) -> bool:
        room = tokens_left - sum(block.tokens for block in _remainder_blocks(job, omitted))
        for line in lines:
            room -= count_line(line)
            if room < 0:
                break  # of thousands of lines, most are not counted
        return room >= 0

    lines = fit_categories(categories, fits)
    if not lines:
        return make_tier(0, ())
    blocks = [
        *(
            job.block(entry["category"], job.form.category(line))
            for entry, line in zip(categories, lines, strict=False)
        ),
        *_remainder_blocks(job, len(categories) - len(lines)),
    ]
    left_out = [_shortest_block(job, entry) for entry in categories[len(lines) :]]
    dropped = [DroppedBlock(id=block.id, tier=0, tokens=block.tokens) for block in left_out]
    return make_tier(0, blocks, dropped)


def has_answer_tiers(job: RenderJob) -> bool:
    """Whether summaries or details are to be printed, if there are any."""
    return bool({1, 2} & set(job.inputs.levels))


def share_for_overview(tokens: int) -> int:
    """How many of these tokens an overview next to an answer may take."""
    return max(0, min(tokens // 3, tokens - ANSWER_TOKENS))


def min_overview_tokens(job: RenderJob) -> int:
    """The tokens of the shortest overview: one category, and how many more there are."""
    categories = job.inputs.overview
    if not categories:
        return 0
    blocks = (_shortest_block(job, categories[0]), *_remainder_blocks(job, len(categories) - 1))
    return sum(block.tokens for block in blocks)


def stable_overviews(job: RenderJob, cap: int) -> Iterator[Tier]:
    """Overviews, longest first, for formats whose printed text alone tells what they cost.

    The first takes a share of what an empty query leaves of the budget, so that it stays the same
    from turn to turn, whatever the query. The shorter ones are for queries that leave no room for
    it. `cap` is the most that tier 0 may have.
    """
    frame_tokens = _count_empty_query_tokens(job, ())
    max_tokens = job.budgets.total - frame_tokens
    max_tokens = share_for_overview(max_tokens) if has_answer_tiers(job) else max_tokens
    for eighths in range(8, 0, -1):
        tier = build_overview(job, min(cap, max_tokens) * eighths // 8)
        if tier.blocks and _count_empty_query_tokens(job, (tier,)) - frame_tokens <= max_tokens:
            yield tier
    if not has_answer_tiers(job):
        yield build_overview(job, min_overview_tokens(job))


def _count_empty_query_tokens(job: RenderJob, tiers: tuple[Tier, ...]) -> int:
    """The tokens of what is printed for a query without words and without hits."""
    empty_ranking = Ranking(query=Query(texts=()), hits=(), mode="", confidence=0.0)
    printing = replace(job.printing, split="", facts={}, request="")
    context = Context(
        ranking=empty_ranking,
        tiers=tiers,
        tokens=0,
        budgets=job.budgets,
        tokenizer=job.counter.name,
        printing=printing,
    )
    return job.counter.exact(job.form.format_context(job.form, context))


def _shortest_block(job: RenderJob, entry: CategoryRecord) -> Block:
    return job.block(entry["category"], job.form.category(entry["lines"][-1]))


def _remainder_blocks(job: RenderJob, count: int) -> tuple[Block, ...]:
    return (
        (job.block("", job.form.category(MORE_CATEGORIES.format(count=count))),) if count else ()
    )


# Tier 2.

# How much of the tier guidance may take, since the capabilities need room, too.
_GUIDANCE_SHARE = 1 / 3
# Where many capabilities share the tier and each would get less, a line for each says more.
_MIN_SHARE = 3 * MIN_DETAIL_TOKENS


def build_details(job: RenderJob, tokens_left: int) -> Tier:
    """Tier 2 of at most `tokens_left` tokens: the capabilities in order. One that is too long
    loses some of its sections, and the next is still tried.
    """
    hits = islice(job.inputs.descriptors, job.inputs.details)
    selected = list({d.id: d for d in (*job.inputs.pinned, *hits)}.values())
    blocks, dropped = _build_guidance(job, selected, tokens_left)
    tokens_left -= sum(block.tokens for block in blocks)
    if job.inputs.equal_shares:
        equal_tier = _build_equal_shares(job, selected, tokens_left)
        return make_tier(2, [*blocks, *equal_tier.blocks], [*dropped, *equal_tier.dropped])
    for d in _deduplicate_guidance(selected):
        # Where the best capability has no room, another one's text would stand in its place.
        is_possible = d is selected[0] or any(block.id == selected[0].id for block in blocks)
        block, full_tokens = frame_excerpt(job, d, tokens_left if is_possible else 0)
        tokens_left -= block.tokens if block else 0
        blocks += [block] if block else []
        dropped += list_dropped(2, d.id, block, full_tokens)
    return make_tier(2, blocks, dropped)


def _deduplicate_guidance(descriptors: Iterable[Descriptor]) -> Iterable[Descriptor]:
    """The capabilities, without guidance that an earlier one has word for word."""
    shown_guidance: set[str] = set()
    for d in descriptors:
        yield replace(d, guidance="") if d.guidance.strip() in shown_guidance else d
        shown_guidance |= {d.guidance.strip()} - {""}


def _build_guidance(
    job: RenderJob, descriptors: Sequence[Descriptor], tokens_left: int
) -> tuple[list[Block], list[DroppedBlock]]:
    """The guidance of the categories of these capabilities, each once."""
    blocks: list[Block] = []
    dropped: list[DroppedBlock] = []
    tokens_left = int(tokens_left * _GUIDANCE_SHARE)
    names = dict.fromkeys(d.category.casefold() for d in descriptors)
    for guidance in (job.inputs.guidance[name] for name in names if name in job.inputs.guidance):
        identifier = guidance_id(guidance.category)
        block, full_tokens = frame_text(job, identifier, guidance_text(guidance.text), tokens_left)
        tokens_left -= block.tokens if block else 0
        blocks += [block] if block else []
        dropped += list_dropped(2, identifier, block, full_tokens)
    return blocks, dropped


def _build_equal_shares(
    job: RenderJob, descriptors: Sequence[Descriptor], tokens_left: int
) -> Tier:
    """Many capabilities, each in full while all fit, else cut to an equal share; a line for each
    where a share would hold too little.
    """
    full_counts = [_count_full_tokens(job, d) for d in descriptors]
    limit = min(tokens_left, job.inputs.max_tokens_each or tokens_left)
    share = bisect_left(
        range(1, limit + 1),
        True,
        key=lambda share: sum(min(tokens, share) for tokens in full_counts) > tokens_left,
    )
    if share < min(max(full_counts, default=0), _MIN_SHARE):
        return _build_lines(job, descriptors, full_counts, tokens_left)
    details = [(d.id, *frame_excerpt(job, d, share)) for d in descriptors]
    dropped = [entry for detail in details for entry in list_dropped(2, *detail)]
    return make_tier(2, [block for _, block, _ in details if block], dropped)


def _count_full_tokens(job: RenderJob, d: Descriptor) -> int:
    """The tokens of a capability in full, counted once."""
    if d.id not in job.full_tokens:
        job.full_tokens[d.id] = frame_excerpt(job, d, -1)[1]
    return job.full_tokens[d.id]


def _build_lines(
    job: RenderJob, descriptors: Sequence[Descriptor], full_counts: Sequence[int], tokens_left: int
) -> Tier:
    blocks = fit_lines(job, descriptors, tokens_left, 2).blocks
    shown_ids = {block.id for block in blocks}
    dropped = [
        DroppedBlock(id=d.id, tier=2, tokens=full_tokens, clipped=d.id in shown_ids)
        for d, full_tokens in zip(descriptors, full_counts, strict=True)
    ]
    return make_tier(2, blocks, dropped)
