"""Assembles the tiers of a context so that its printed text keeps the budget.

`assemble` is the way in. Where the tokens of pieces add up, the tiers are built once; where a
format escapes or wraps them, or a template stands around them, the budget of the pieces is found
by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import (
    UNLIMITED,
    Block,
    Budgets,
    Context,
    DroppedBlock,
    PrintOptions,
    Ranking,
    Tier,
)
from capdisc_indexer.rendering.capability_text import request_words
from capdisc_indexer.rendering.details import (
    build_details,
    build_overview,
    has_answer_tiers,
    min_overview_tokens,
    share_for_overview,
    stable_overviews,
)
from capdisc_indexer.rendering.render_format import (
    APPENDED,
    LAYOUT_PARTS,
    MEMORY,
    SPLIT_MARKER,
    RenderFormat,
    format_layout,
)
from capdisc_indexer.rendering.render_job import RenderInputs, RenderJob, list_dropped, make_tier
from capdisc_indexer.rendering.summaries import build_summaries
from capdisc_indexer.rendering.truncation import enclose_text
from capdisc_indexer.text.normalization import strip_controls
from capdisc_indexer.text.token_counts import TokenCounter


def assemble(
    inputs: RenderInputs,
    ranking: Ranking,
    form: RenderFormat,
    budgets: Budgets,
    counter: TokenCounter,
    printing: PrintOptions | None = None,
) -> Context:
    """The context whose printed text has at most `budgets.total` tokens.

    Raises UsageError where not even the shortest overview fits.
    """
    job = RenderJob(
        inputs=inputs,
        ranking=ranking,
        form=form,
        budgets=budgets,
        counter=counter,
        printing=printing or PrintOptions(),
        # Of a catalogue that is listed whole, lines of later sentences have no stored counts.
        request_words=request_words(ranking.query.texts if ranking.hits else ()),
    )
    if form.additive and counter.additive and not job.printing.layout:
        context = _assemble_tiers(job, budgets.total)
        if not has_content(job, context):
            # Not even a line of the answer fits, but the shortest overview may.
            tokens_left = min(budgets.tier0, budgets.total - frame_tokens(job))
            overview = build_overview(job, tokens_left - tier_frame_tokens(job, 0))
            context = _assemble_tiers(job, budgets.total, overview)
        if not has_content(job, context):
            raise budget_error(job, min(budgets.total, budgets.tier0))
        return context
    return _fit_context(job)


def _fit_context(job: RenderJob) -> Context:
    """The context with the most tokens whose whole printed text fits, with the longest overview
    with which there is one. Raises UsageError where there is none.
    """
    overviews: Iterable[Tier | None] = ()
    if is_level_printed(job, 0):
        overviews = _overview_candidates(job)
    if job.inputs.is_overview_last or not is_level_printed(job, 0):
        overviews = chain((None,), overviews)
    for overview in overviews:
        best = _fit_with_overview(job, overview)
        if best is not None and has_content(job, best):
            return best
    raise budget_error(job, job.budgets.total)


def _fit_with_overview(job: RenderJob, overview: Tier | None) -> Context | None:
    """The context with the most tokens that fits with this overview, by bisection: where pieces
    are escaped or wrapped, only the printed text tells what they cost.
    """
    low, high, best = 0, job.budgets.total, None
    budget = high
    while low <= high:
        context = _count_tokens(job, _assemble_tiers(job, budget, overview))
        whole = _count_whole(job, context)
        if whole.tokens <= job.budgets.total:
            best, low = context, budget + 1
        else:
            # A budget far above what its pieces need changes nothing. Skipping those spares most
            # steps of a large budget.
            high = min(budget - 1, 2 * whole.text_tokens)
        budget = (low + high) // 2
    return best


def _overview_candidates(job: RenderJob) -> Iterator[Tier]:
    """The overview, which does not depend on what the rest needs, then shorter ones, and none at
    last where an answer may stand alone.
    """
    max_tokens = job.budgets.tier0 - tier_frame_tokens(job, 0)
    if job.inputs.overview and min_overview_tokens(job) > max_tokens:
        raise budget_error(job, min(job.budgets.total, job.budgets.tier0))
    previous: Tier | None = None
    for tier in stable_overviews(job, max_tokens):
        if tier != previous and (tier.blocks or not job.inputs.overview):
            yield tier
        previous = tier
    if has_answer_tiers(job):
        yield Tier(level=0, blocks=(), tokens=0)
        # Not even a line of the answer fits, but the shortest overview may.
        yield build_overview(job, min_overview_tokens(job))


def _count_tokens(job: RenderJob, context: Context) -> Context:
    """The context with the tokens of its printed text, counted whole."""
    if context.printing.layout or context.printing.split or not job.counter.additive:
        text = format_layout(job.form, context)
        context = replace(context, text_tokens=_count_exactly(job, text))
    return replace(context, tokens=_count_exactly(job, job.form.format_context(job.form, context)))


def _count_exactly(job: RenderJob, text: str) -> int:
    """The tokens of the whole text, counted once: the last steps of a bisection often print the
    same.
    """
    if text not in job.whole_texts:
        job.whole_texts[text] = job.counter.exact(text)
    return job.whole_texts[text]


def _count_whole(job: RenderJob, context: Context) -> Context:
    """The context with the tokens that it is charged with. One half of a split is charged for both
    halves, so that it is the same text whether one or both are printed.
    """
    if not job.printing.split:
        return context
    return _count_tokens(job, replace(context, printing=replace(job.printing, split="both")))


def _assemble_tiers(job: RenderJob, budget: int, overview: Tier | None = None) -> Context:
    """The tiers within the budget; tier 0 is `overview` where that is not None."""
    budget_left = budget - frame_tokens(job)
    tiers: list[Tier] = []
    levels = [level for level in _TIER_BUILDERS if is_level_printed(job, level)]
    is_last = job.inputs.is_overview_last and overview is None and 0 in levels
    for level in levels[1:] if is_last else levels:
        tier_frame = tier_frame_tokens(job, level)
        tokens_left = (
            overview_budget(job, budget_left)
            if level == 0
            else min(tier_cap(job.budgets, level), budget_left) - tier_frame
        )
        tier = (
            overview
            if overview is not None and level == 0
            else _TIER_BUILDERS[level](job, tokens_left)
        )
        tier = replace(tier, tokens=tier.tokens + (tier_frame if tier.blocks else 0))
        budget_left -= tier.tokens
        tiers.append(tier)
    tiers = _complete_summaries(job, tiers, budget_left)
    budget_left = budget - frame_tokens(job) - sum(tier.tokens for tier in tiers)
    if is_last:
        tiers.append(_add_overview(job, budget_left))
        budget_left -= tiers[-1].tokens
    return Context(
        ranking=job.ranking,
        tiers=tuple(sorted(tiers, key=lambda tier: tier.level)),
        tokens=budget - budget_left if any(tier.blocks for tier in tiers) else 0,
        text_tokens=sum(tier.tokens for tier in tiers),
        budgets=job.budgets,
        tokenizer=job.counter.name,
        printing=job.printing,
    )


def _add_overview(job: RenderJob, budget_left: int) -> Tier:
    """The overview within what an answer leaves of the budget; no omission counts as a loss."""
    tier_frame = tier_frame_tokens(job, 0)
    tier = build_overview(job, min(tier_cap(job.budgets, 0), budget_left) - tier_frame)
    tokens = tier.tokens + tier_frame if tier.blocks else 0
    return replace(tier, tokens=tokens, dropped=())


def _complete_summaries(job: RenderJob, tiers: Sequence[Tier], budget_left: int) -> list[Tier]:
    """The tiers, with the summaries that suit the details: a summary only points to a text that
    follows, so no description is printed twice, and the short lines have what is left.
    """
    blocks = {tier.level: tier.blocks for tier in tiers}
    if not {1, 2} <= blocks.keys() or job.form.is_catalogue:
        return list(tiers)
    tier_frame = tier_frame_tokens(job, 1)
    in_full = frozenset(block.id for block in blocks[2])
    final_job = replace(job, in_full=in_full & {block.id for block in blocks[1]})

    def complete(tier: Tier) -> Tier:
        tokens_left = min(tier_cap(job.budgets, 1), tier.tokens + budget_left)
        summaries = build_summaries(final_job, tokens_left - tier_frame)
        frame = tier_frame if summaries.blocks else 0
        return replace(summaries, tokens=summaries.tokens + frame)

    return [complete(tier) if tier.level == 1 else tier for tier in tiers]


# How much of a budget each part may have, and whether it is printed at all.


def tier_frame_tokens(job: RenderJob, level: int) -> int:
    """The tokens around the blocks of a level."""
    return job.counter.count(job.form.headings[level]) + job.counter.count(job.form.endings[level])


def frame_tokens(job: RenderJob) -> int:
    """The tokens of what encloses the tiers. One half of a split is charged for both halves, so
    that it is the same text whether one or both are printed.
    """
    enclosing = job.counter.count(job.form.opening) + job.counter.count(job.form.closing)
    if not (job.printing.split and job.form.additive):
        return enclosing
    # A first half with nothing in it is not enclosed.
    halves = 2 if job.inputs.overview and is_level_printed(job, 0) else 1
    return halves * enclosing + job.counter.count(SPLIT_MARKER)


def tier_cap(budgets: Budgets, level: int) -> int:
    """The most tokens that a level may have."""
    return {
        0: budgets.tier0,
        1: budgets.tier1,
        2: budgets.tier2,
        MEMORY: budgets.memory,
        APPENDED: UNLIMITED,
    }[level]


def is_level_printed(job: RenderJob, level: int) -> bool:
    """Whether the level is printed: requested, in the format and the layout, and with a budget
    above 0.
    """
    layout = job.printing.layout
    if layout and level not in {LAYOUT_PARTS[piece.part] for piece in layout if piece.part}:
        return False
    is_requested = {
        APPENDED: bool(job.inputs.appended) and 0 in job.form.levels,
        MEMORY: job.inputs.memory is not None and 0 in job.form.levels,
    }.get(level, level in job.form.levels and level in job.inputs.levels)
    return is_requested and tier_cap(job.budgets, level) > 0


def overview_budget(job: RenderJob, budget_left: int) -> int:
    """The most tokens of the overview next to an answer: a third of the budget, and no more than
    what is left after the first tokens of the answer. It does not depend on whether there is an
    answer, so that the overview stays the same from turn to turn.
    """
    tier_frame = tier_frame_tokens(job, 0)
    tokens_left = min(job.budgets.tier0, budget_left) - tier_frame
    if not has_answer_tiers(job):
        return tokens_left
    return min(tokens_left, share_for_overview(budget_left) - tier_frame)


def budget_error(job: RenderJob, budget: int) -> UsageError:
    """The error that says which budget is too small, and for what."""
    tier = " for tier 0" if budget < job.budgets.total else ""
    if job.inputs.overview and is_level_printed(job, 0):
        message = "not even the shortest overview fits"
        hint = ", or leave the overview out with --tier 1,2"
    elif job.printing.layout:
        message, hint = "not even the text of the template fits", ", or a shorter --template"
    else:
        message, hint = "not even an empty document of this format fits", ""
    return UsageError(
        f"a budget of {budget} tokens{tier} is too small: {message}",
        f"give a larger --budget{hint}",
    )


def has_content(job: RenderJob, context: Context) -> bool:
    """Whether the context has an overview, an answer in its place, or needs none. An overview
    whose own budget is too small for any is missing, whatever else there is.
    """
    if not job.inputs.overview or not is_level_printed(job, 0):
        return True
    shown_levels = {tier.level for tier in context.tiers if tier.blocks}
    if 0 in shown_levels:
        return True
    fits_its_budget = min_overview_tokens(job) <= job.budgets.tier0 - tier_frame_tokens(job, 0)
    is_answer_empty = bool(job.ranking.query.texts) and not len(job.inputs.descriptors)
    has_answer = bool(shown_levels & {1, 2}) or is_answer_empty
    return fits_its_budget and has_answer_tiers(job) and has_answer


# The tiers besides 0, 1 and 2: the caller's texts, and the memory of a session.


def build_appended(job: RenderJob, tokens_left: int) -> Tier:
    """The caller's own texts, without control characters. Beside tiers 1 and 2 they get at most
    half of the tokens that are left.
    """
    blocks: list[Block] = []
    dropped: list[DroppedBlock] = []
    tokens_left = tokens_left // 2 if has_answer_tiers(job) else tokens_left
    for number, text in enumerate(job.inputs.appended, 1):
        identifier = f"append:{number}"
        parts = ((), _clean_text(text), ())
        block, full_tokens = enclose_text(job, identifier, parts, tokens_left)
        tokens_left -= block.tokens if block else 0
        blocks += [block] if block else []
        dropped += list_dropped(APPENDED, identifier, block, full_tokens)
    return make_tier(APPENDED, blocks, dropped)


def build_memory(job: RenderJob, tokens_left: int) -> Tier:
    """The memory of the session, which shortens itself to fit."""
    lines: Sequence[str] = ()
    if job.inputs.memory is not None and tokens_left > 0:
        count = job.counter.count
        lines = job.inputs.memory(tokens_left, lambda text: count(job.form.chunk(text)))
    text = job.form.chunk("".join(f"{line}\n" for line in lines))
    return make_tier(MEMORY, [job.block("memory", text)] if lines else [])


def _clean_text(text: str) -> str:
    """The text without control characters, and with a beginning that no token joins with the
    heading before it (see `render_format`).
    """
    cleaned = strip_controls(text).strip() + "\n"
    return f" {cleaned}" if cleaned.startswith("/") else cleaned


# In the order in which they take from the budget: what stays the same from turn to turn, what the
# caller adds, the answer.
_TIER_BUILDERS: Mapping[int, Callable[[RenderJob, int], Tier]] = MappingProxyType(
    {
        0: build_overview,
        APPENDED: build_appended,
        MEMORY: build_memory,
        1: build_summaries,
        2: build_details,
    }
)
