"""A context from an open index and a ranking, with nothing that only the command line knows: no
settings, no session, no template. The command line builds its contexts from the same parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from functools import partial
from pathlib import PurePath

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Budgets, Context, Descriptor, Ranking
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.capability_text import request_words
from capdisc_indexer.rendering.formats import find_format
from capdisc_indexer.rendering.formats.text import with_mark_key
from capdisc_indexer.rendering.render_format import RenderFormat
from capdisc_indexer.rendering.render_job import (
    TOP_DETAILS,
    Guidance,
    RenderInputs,
    share_for_lines,
)
from capdisc_indexer.rendering.token_accounting import (
    CountedDescriptor,
    learn_counts,
    learn_guidance,
)
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.token_counts import TokenCounter, find_tokenizer, make_counter


def render_ranking(
    index: Index,
    ranking: Ranking,
    budget: int,
    format_name: str,
    levels: tuple[int, ...],
    tokenizer: str,
    mark_key: bytes,
    summaries: int,
    workspace: PurePath | None,
) -> tuple[str, Context]:
    """The printed text and the context behind it, of at most `budget` tokens and `summaries` hits.

    Raises UsageError for a format or tokenizer that there is not, and for a budget too small for
    anything.
    """
    form = with_mark_key(find_format(format_name), lambda: mark_key)
    counter = make_counter(find_tokenizer(tokenizer))
    counter.learn(index.overview["counts"])
    context = assemble_ranking(index, ranking, budget, form, levels, counter, summaries, workspace)
    return form.format_context(form, context), context


def assemble_ranking(
    index: Index,
    ranking: Ranking,
    budget: int,
    form: RenderFormat,
    levels: tuple[int, ...],
    counter: TokenCounter,
    summaries: int,
    workspace: PurePath | None,
) -> Context:
    """The context of a ranking, of at most `budget` tokens by this counter. Raises UsageError for
    a budget too small for anything.
    """
    stored = index.list_with_counts([hit.id for hit in ranking.hits], TOP_DETAILS)
    words = request_words(ranking.query.texts)
    descriptors = learn_stored_counts(counter, form, stored, TOP_DETAILS, words)
    inputs = RenderInputs(
        overview=index.overview["categories"] if 0 in levels else (),
        descriptors=descriptors,
        levels=form.levels if form.is_catalogue else levels,
        summaries=summaries,
        is_overview_last=bool(ranking.hits),
        workspace=workspace,
        guidance=load_guidance(index, counter, form, descriptors) if 2 in levels else {},
    )
    budgets = catalogue_budgets(budget) if form.is_catalogue else split_total(Budgets(), budget)
    return assemble(inputs, ranking, form, budgets, counter)


def learn_stored_counts(
    counter: TokenCounter,
    form: RenderFormat,
    stored: Iterable[CountedDescriptor],
    details: int | None = None,
    words: Set[str] = frozenset(),
) -> list[Descriptor]:
    """The capabilities; the counter learns their stored counts, those of texts in full only of the
    first `details` (None: of all). `words` are those of the request.
    """
    descriptors = []
    for place, (descriptor, counts) in enumerate(stored):
        with_detail = details is None or place < details
        counter.learn_later(
            partial(
                learn_counts,
                form=form,
                descriptor=descriptor,
                counts=counts,
                with_detail=with_detail,
                words=words,
            )
        )
        descriptors.append(descriptor)
    return descriptors


def load_guidance(
    index: Index, counter: TokenCounter, form: RenderFormat, descriptors: Iterable[Descriptor]
) -> dict[str, Guidance]:
    """The guidance of these capabilities' categories, by category in lower case; the counter
    learns its stored counts.
    """
    entries = index.guidance(descriptor.category for descriptor in descriptors)
    if entries:
        texts = {entry["category"]: entry["text"] for entry in entries.values()}
        learn_guidance(counter, form, index.meta("guidance")["counts"], texts)
    return {
        name: Guidance(category=entry["category"], text=entry["text"])
        for name, entry in entries.items()
    }


def split_total(budgets: Budgets, total: int) -> Budgets:
    """The budgets with this total, in tokens: lines may take what the text of the best hits leaves
    them, and that text what the overview and the lines leave.
    """
    details = max(budgets.tier2, total - budgets.tier0 - budgets.tier1)
    lines = max(budgets.tier1, share_for_lines(total))
    return replace(budgets, tier1=lines, tier2=details, total=total)


def catalogue_budgets(total: int) -> Budgets:
    """The budgets of a format that has tier 1 alone: all of the total is for its list."""
    return Budgets(tier1=total, total=total)
