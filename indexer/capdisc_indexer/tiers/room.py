"""What of a budget each part may have, and whether it is wanted at all."""

from __future__ import annotations

from capdisc_indexer.errors import UsageError
from capdisc_indexer.render.format import ADDED, MEMORY
from capdisc_indexer.render.layout import BORDER, PARTS
from capdisc_indexer.tiers.material import Job
from capdisc_indexer.tiers.overview import smallest
from capdisc_indexer.types import UNLIMITED, Budgets, Context


def frame(job: Job, level: int) -> int:
    """The tokens around the blocks of a level."""
    return job.counter.count(job.form.headings[level]) + job.counter.count(job.form.endings[level])


def around(job: Job) -> int:
    """What encloses the tiers, as much for one half of a split as for both, so that each is the same either way."""
    enclosing = job.counter.count(job.form.opening) + job.counter.count(job.form.closing)
    if not (job.printing.split and job.form.additive):
        return enclosing
    # A first half with nothing in it is not enclosed.
    halves = 2 if job.material.overview and is_wanted(job, 0) else 1
    return halves * enclosing + job.counter.count(BORDER)


def cap(budgets: Budgets, level: int) -> int:
    """What a level may have in all."""
    caps = {0: budgets.tier0, 1: budgets.tier1, 2: budgets.tier2, MEMORY: budgets.memory, ADDED: UNLIMITED}
    return caps[level]


def is_wanted(job: Job, level: int) -> bool:
    """Whether the level is to be printed: asked for, known to the format, given room, and in the layout."""
    layout = job.printing.layout
    shown = not layout or level in {PARTS[piece.part] for piece in layout if piece.part}
    if level in (MEMORY, ADDED):
        present = bool(job.material.added) if level == ADDED else job.material.memory is not None
        return present and shown and 0 in job.form.levels and cap(job.budgets, level) > 0
    return level in job.form.levels and level in job.material.levels and shown and cap(job.budgets, level) > 0


def overview_room(job: Job, left: int) -> int:
    """A small budget belongs to the answer: the overview gets a third, or the least that it can be. Whether there is an
    answer does not matter, so that the overview stays the same from turn to turn."""
    own = frame(job, 0)
    room = min(job.budgets.tier0, left) - own
    return min(room, max(left // 3 - own, smallest(job))) if {1, 2} & set(job.material.levels) else room


def too_small(job: Job, budget: int) -> UsageError:
    """The error that says which budget is too small, and for what."""
    tier = " for tier 0" if budget < job.budgets.total else ""
    if job.material.overview and is_wanted(job, 0):
        message, hint = "not even the shortest overview fits", ", or leave the overview out with --tier 1,2"
    elif job.printing.layout:
        message, hint = "not even the text of the template fits", ", or a shorter --template"
    else:
        message, hint = "not even an empty document of this format fits", ""
    return UsageError(f"a budget of {budget} tokens{tier} is too small: {message}", f"give a larger --budget{hint}")


def has_overview(job: Job, context: Context) -> bool:
    """Whether there is one where one belongs."""
    wanted = bool(job.material.overview) and is_wanted(job, 0)
    return not wanted or any(tier.level == 0 and tier.blocks for tier in context.tiers)
