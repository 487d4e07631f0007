"""From what was typed and found to a context that keeps its budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from capdisc import sessions
from capdisc.rendering import shaping
from capdisc.rendering.desk import Desk
from capdisc.rendering.material import guidance, learnt, missing, overview_lines
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import replace
from capdisc_indexer.text import plain
from capdisc_indexer.tiers import Material, assemble
from capdisc_indexer.tiers.material import Descriptors
from capdisc_indexer.types import Budgets, Context, Descriptor, Piece, Printing

# What a request that is said back word for word leaves for everything else.
_LEAST_BESIDE = 40


def context(desk: Desk) -> Context:
    """The context. Raises UsageError where the budget is too small for anything."""
    printing = _printing(desk)
    return assemble(material(desk), desk.found.ranking, desk.form, _budgets(desk), desk.counter, printing)


def remember(desk: Desk, made: Context) -> None:
    """Tell the session, if one is named, which answers are about to be printed."""
    if desk.texts and not desk.found.is_everything:
        shown = [block.id for tier in made.tiers if tier.level in (1, 2) for block in tier.blocks]
        hits = {hit.id for hit in desk.found.ranking.hits}
        ids = [each for each in dict.fromkeys(shown) if each in hits]
        sessions.remembered(desk.asked.here, desk.typed.prompting.session, ids)


def material(desk: Desk) -> Material:
    """What the context is made from."""
    shape, all_of_it = desk.typed.shape, desk.told.is_everything
    active = learnt(desk.counter, desk.form, desk.session.active)
    always = learnt(desk.counter, desk.form, desk.pinned)
    descriptors = _descriptors(desk, {descriptor.id for descriptor in always})
    details = None if all_of_it else 0 if desk.found.is_everything else desk.room.details
    levels = _levels(desk)
    lines = overview_lines(desk.asked, desk.found.ranking.query, shape.by_kind) if 0 in levels else ()
    return Material(
        overview=lines,
        descriptors=descriptors,
        always=always,
        pinned=active,
        levels=levels,
        summaries=None if desk.found.is_everything else desk.room.summaries,
        details=details,
        missing=_missing(desk, descriptors, [*active, *always]),
        guidance=guidance(desk, [*active, *islice(descriptors, details)]) if 2 in levels else {},
        memory=desk.session.memory,
        added=_added(desk),
        names=shape.detail == "name",
        hints=shape.hints,
        evenly=all_of_it,
        each=desk.typed.limits.each if all_of_it and desk.told.style else 0,
    )


def _descriptors(desk: Desk, always: Collection[str]) -> Descriptors:
    """What was found; of everything, what is not always shown anyway."""
    if desk.found.everything is None:
        return learnt(desk.counter, desk.form, desk.found.stored)
    desk.found.everything.leave_out(always)
    return desk.found.everything


def _missing(
    desk: Desk, descriptors: Iterable[Descriptor], others: Sequence[Descriptor]
) -> Mapping[str, Sequence[str]]:
    """What each lacks here; of everything, what is known so far, and more as it is read."""
    if desk.is_catalogue:
        return {}
    if desk.found.everything is None:
        return missing(desk.asked, [*descriptors, *others])
    desk.found.everything.missing.update(missing(desk.asked, others))
    return desk.found.everything.missing


def _levels(desk: Desk) -> tuple[int, ...]:
    """The tiers to print. Without a query there is nothing to say in tiers 1 and 2 but what is always shown, unless the
    text must begin as it does with one."""
    wanted = shaping.levels(desk.typed.shape)
    if desk.is_catalogue:
        return (1,)
    if desk.told.is_everything:
        return (2,)
    if desk.texts or _has_layout(desk) or desk.typed.shape.split or desk.form.name == "messages":
        return wanted
    shown = {0: True, 1: desk.pinned, 2: desk.session.active}
    return tuple(level for level in wanted if shown[level])


def _budgets(desk: Desk) -> Budgets:
    budgets = desk.room.budgets
    if desk.is_catalogue:
        return Budgets(tier1=budgets.total, total=budgets.total)
    if desk.told.is_everything:
        return desk.room.of_everything
    return replace(budgets, tier1=budgets.total) if desk.found.is_everything else budgets


def _has_layout(desk: Desk) -> bool:
    return bool(desk.typed.prompting.template or desk.told.style)


def _printing(desk: Desk) -> Printing:
    shape = desk.typed.shape
    return Printing(
        layout=_layout(desk) if _has_layout(desk) else (),
        split=shape.split,
        request=_request(desk) if desk.form.name == "messages" else "",
        facts=_facts(desk) if desk.form.name == "json" else {},
    )


# What most calls need nothing of is imported where it is needed: each start of `render` counts.
def _facts(desk: Desk) -> dict[str, Any]:
    from capdisc.rendering.facts import facts

    return facts(desk.found, desk.pinned, desk.told, desk.typed.shape.diagnostics)


def _added(desk: Desk) -> list[str]:
    if not desk.typed.prompting.append:
        return []
    from capdisc.rendering.templating import text_file

    return [text_file(desk.asked.here, name) for name in desk.typed.prompting.append]


def _layout(desk: Desk) -> tuple[Piece, ...]:
    from capdisc.rendering.templating import layout

    prompting = desk.typed.prompting
    name = prompting.template or (desk.told.style.name if desk.told.style else "")
    needed = [part for part, is_there in (("append", prompting.append), ("memory", prompting.session)) if is_there]
    hint = desk.typed.shape.hint or "cli"
    return layout(desk.asked.here, name, hint, prompting.model, desk.texts, tuple(needed))


def _request(desk: Desk) -> str:
    """What the user asks, word for word. Raises UsageError where it leaves no room for anything else."""
    text = plain("\n".join(desk.texts))
    total = _budgets(desk).total
    if text and (tokens := desk.counter.count(text)) > total - _LEAST_BESIDE:
        beside = f"and {_LEAST_BESIDE} are needed beside it: {total:,} are too few"
        message = f"the request alone has {tokens:,} tokens, {beside}"
        raise UsageError(message, "give a larger --budget, or a format that does not repeat it")
    return text
