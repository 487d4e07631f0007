"""All tiers together, within the budget for the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from capdisc_indexer.frozen import replace
from capdisc_indexer.render.format import ADDED, MEMORY, Format
from capdisc_indexer.render.layout import whole
from capdisc_indexer.tiers.beside import added, memory
from capdisc_indexer.tiers.details import details
from capdisc_indexer.tiers.material import Job, Material
from capdisc_indexer.tiers.overview import overview, steady
from capdisc_indexer.tiers.room import around, cap, frame, has_overview, is_wanted, overview_room, too_small
from capdisc_indexer.tiers.summaries import summaries
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Budgets, Context, Printing, Ranking, Tier

# In the order in which they take their room: what is the same from turn to turn, what was asked for, the answer.
_MAKERS: Mapping[int, Callable[[Job, int], Tier]] = MappingProxyType(
    {0: overview, ADDED: added, MEMORY: memory, 1: summaries, 2: details}
)


def assemble(
    material: Material,
    ranking: Ranking,
    form: Format,
    budgets: Budgets,
    counter: TokenCounter,
    printing: Printing | None = None,
) -> Context:
    """The context whose printed text has at most `budgets.total` tokens. Raises UsageError when not even the
    shortest overview fits."""
    job = Job(
        material=material,
        ranking=ranking,
        form=form,
        budgets=budgets,
        counter=counter,
        printing=printing or Printing(),
    )
    if form.additive and counter.additive and not job.printing.layout:
        made = _assembled(job, budgets.total)
        if not has_overview(job, made):
            raise too_small(job, min(budgets.total, budgets.tier0))
        return made
    return _largest(job)


def _largest(job: Job) -> Context:
    """The fullest context whose whole text fits, with the first overview that leaves room for one."""
    for first in _firsts(job) if is_wanted(job, 0) else (None,):
        best = _fullest(job, first)
        if best is not None and has_overview(job, best):
            return best
    raise too_small(job, job.budgets.total)


def _fullest(job: Job, first: Tier | None) -> Context | None:
    """The fullest with this overview, by bisection: where pieces are escaped or wrapped, only the printed text
    tells."""
    low, high, best = 0, job.budgets.total, None
    allowed = high
    while low <= high:
        context = _counted(job, _assembled(job, allowed, first))
        if _together(job, context) <= job.budgets.total:
            best, low = context, allowed + 1
        else:
            # Far above what its pieces need, more room changes nothing: that spares most steps of a large budget.
            high = min(allowed - 1, 2 * context.text_tokens)
        allowed = (low + high) // 2
    return best


def _firsts(job: Job) -> Iterator[Tier]:
    """The overview, which is the same whatever room the rest has, and shorter ones."""
    most = job.budgets.tier0 - frame(job, 0)
    last: Tier | None = None
    for tier in steady(job, most):
        if job.material.overview and (tier.tokens > most or not tier.blocks):
            raise too_small(job, min(job.budgets.total, job.budgets.tier0))
        if tier != last:
            yield tier
        last = tier


def _counted(job: Job, context: Context) -> Context:
    """The context with what is printed of it counted whole."""
    if job.printing.layout or not job.counter.additive:
        text = whole(job.form, context)
        context = replace(context, text_tokens=job.counter.exact(text))
    return replace(context, tokens=job.counter.exact(job.form.printed(job.form, context)))


def _together(job: Job, context: Context) -> int:
    """The tokens of what is printed; of a split, of both halves, so that each is the same either way."""
    if not job.printing.split:
        return context.tokens
    both = replace(context, printing=replace(job.printing, split="both"))
    return job.counter.exact(job.form.printed(job.form, both))


def _assembled(job: Job, allowed: int, first: Tier | None = None) -> Context:
    """The tiers in their order, `first` in the place of the overview where it is made already."""
    left = allowed - around(job)
    tiers = []
    for level in (level for level in _MAKERS if is_wanted(job, level)):
        own = frame(job, level)
        room = overview_room(job, left) if level == 0 else min(cap(job.budgets, level), left) - own
        tier = first if first and level == 0 else _MAKERS[level](job, room)
        tier = replace(tier, tokens=tier.tokens + (own if tier.blocks else 0))
        left -= tier.tokens
        tiers.append(tier)
    return Context(
        ranking=job.ranking,
        tiers=tuple(sorted(tiers, key=lambda tier: tier.level)),
        tokens=allowed - left if any(tier.blocks for tier in tiers) else 0,
        text_tokens=sum(tier.tokens for tier in tiers),
        budgets=job.budgets,
        tokenizer=job.counter.name,
        printing=job.printing,
    )
