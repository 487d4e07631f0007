"""A context from an open index and a ranking, with nothing that only the command line knows: no
settings, no session, no template.
"""

from __future__ import annotations

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.types import Budgets, Context, Descriptor, Query, Ranking
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.formats import FORMATS
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.formats.text import with_mark_key
from capdisc_indexer.rendering.templates import Guidance, RenderInputs
from capdisc_indexer.rendering.token_accounting import learn_counts, learn_guidance
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
) -> tuple[str, Context]:
    """The printed text and the context behind it, of at most `budget` tokens.

    Raises UsageError for a format or tokenizer that there is not, and for a budget too small for
    anything.
    """
    if format_name not in FORMATS:
        raise UsageError(f"there is no format {format_name!r}", f"one of: {', '.join(FORMATS)}")
    form = with_mark_key(FORMATS[format_name], lambda: mark_key)
    counter = make_counter(find_tokenizer(tokenizer))
    counter.learn(index.overview["counts"])
    descriptors = _load_hits(index, ranking, form, counter)
    inputs = RenderInputs(
        overview=index.overview["categories"] if 0 in levels else (),
        descriptors=descriptors,
        levels=(1,) if form.levels == (1,) else levels,
        guidance=_load_guidance(index, descriptors, form, counter) if 2 in levels else {},
    )
    context = assemble(inputs, ranking, form, _split_budget(budget, form), counter)
    return form.format_context(form, context), context


def _load_hits(
    index: Index, ranking: Ranking, form: RenderFormat, counter: TokenCounter
) -> list[Descriptor]:
    """The hits in full; the counter learns what the index has counted of them."""
    headers = index.documents.headers_for([hit.id for hit in ranking.hits], Query(texts=()))
    descriptors = []
    for hit in ranking.hits:
        descriptor, counts = index.with_counts(headers[hit.id])
        learn_counts(counter, form, descriptor, counts)
        descriptors.append(descriptor)
    return descriptors


def _load_guidance(
    index: Index, descriptors: list[Descriptor], form: RenderFormat, counter: TokenCounter
) -> dict[str, Guidance]:
    entries = index.guidance(descriptor.category for descriptor in descriptors)
    if entries:
        texts = {entry["category"]: entry["text"] for entry in entries.values()}
        learn_guidance(counter, form, index.meta("guidance")["counts"], texts)
    return {
        name: Guidance(category=entry["category"], text=entry["text"])
        for name, entry in entries.items()
    }


def _split_budget(budget: int, form: RenderFormat) -> Budgets:
    """All of it for a format of one tier; else what overview and summaries leave is for details."""
    if form.levels == (1,):
        return Budgets(tier1=budget, total=budget)
    usual = Budgets()
    details = max(usual.tier2, budget - usual.tier0 - usual.tier1)
    return Budgets(tier2=details, total=budget)
