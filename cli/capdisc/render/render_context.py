"""What a context is made from: the open index, what was typed, and what was found and decided so
far.
"""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.args import query_options
from capdisc.context import open_index
from capdisc.output import console, user_files
from capdisc.render import relevant_capabilities, tier_selection
from capdisc.render.relevant_capabilities import (
    CatalogueMode,
    CountedDescriptor,
    Everything,
    RelevantCapabilities,
    all_in_full,
    empty_ranking,
    find_relevant,
)
from capdisc.render.render_options import LimitOptions, RenderOptions
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import IndexStateError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import UNLIMITED, Budgets, Query
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.templates import SessionMemory
from capdisc_indexer.text.token_counts import TokenCounter, Tokenizer, find_tokenizer, make_counter

# Budgets, and how many of each: options over settings.

_BUDGET_SETTINGS = {
    "0": "tier0_budget",
    "1": "tier1_budget",
    "2": "tier2_budget",
    "memory": "memory_budget",
}
_TOP_SETTINGS = {"1": "tier1_top_k", "2": "tier2_top_k"}


@frozen(kw_only=True)
class TokenLimits:
    """How much may be printed; `is_set` says that somebody chose the total."""

    budgets: Budgets
    is_set: bool
    summaries: int
    details: int

    @property
    def full_catalogue_budgets(self) -> Budgets:
        """For a prompt that holds every capability: the total where it was chosen, else without
        limit.
        """
        total = self.budgets.total if self.is_set else UNLIMITED
        return Budgets(
            tier0=self.budgets.tier0, tier2=total, memory=self.budgets.memory, total=total
        )


def build_token_limits(config: Config, limits: LimitOptions) -> TokenLimits:
    """The limits; a total above the sum of the tiers' own goes to the details, unless theirs was
    typed.
    """
    tier_budgets = _parse_tier_numbers("--tier-budget", limits.tier_budget, _BUDGET_SETTINGS)
    tops = _parse_tier_numbers("--tier-top", limits.tier_top, _TOP_SETTINGS)
    tier0, tier1, tier2, memory = (
        tier_budgets.get(key, config[name]) for key, name in _BUDGET_SETTINGS.items()
    )
    total = limits.budget or config["budget"]
    if "2" not in tier_budgets:
        tier2 = max(tier2, total - tier0 - tier1)
    return TokenLimits(
        budgets=Budgets(tier0=tier0, tier1=tier1, tier2=tier2, memory=memory, total=total),
        is_set=limits.budget is not None or config.origins["budget"] != "default",
        summaries=tops.get("1", config["tier1_top_k"]),
        details=tops.get("2", config["tier2_top_k"]),
    )


def _parse_tier_numbers(option: str, text: str, settings: dict[str, str]) -> dict[str, int]:
    """What `0=150,1=600` says. Raises UsageError for anything else."""
    numbers: dict[str, int] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, _, value = (side.strip() for side in part.partition("="))
        if key not in settings or not (value.isascii() and value.isdigit() and len(value) < 9):
            raise UsageError(
                f"{option} {part!r} is not TIER=N", f"TIER is one of: {', '.join(settings)}"
            )
        numbers[key] = int(value)
    return numbers


# What a session brings into a prompt, and what it learns from it.


@frozen(kw_only=True)
class SessionContext:
    """The session's lines, shortened as needed, and the capabilities that it always shows in
    full.
    """

    memory: SessionMemory | None = None
    active: tuple[CountedDescriptor, ...] = ()


def load_session_context(ctx: open_index.CommandContext, name: str | None) -> SessionContext:
    """What the session has so far; nothing where none is named, or it is new."""
    if name is None:
        return SessionContext()
    from capdisc_indexer import sessions

    there = sessions.session_exists(ctx.runtime.state_dir(), name)
    if not there:
        return SessionContext()
    session = sessions.load_session(ctx.runtime.state_dir(), name)
    return SessionContext(
        memory=lambda budget, count: sessions.fit_memory_lines(session, budget, count),
        active=_load_active(ctx, session.active),
    )


def _load_active(
    ctx: open_index.CommandContext, ids: Sequence[str]
) -> tuple[CountedDescriptor, ...]:
    headers = ctx.index.documents.headers_for(ids, Query(texts=())) if ids else {}
    for identifier in (identifier for identifier in ids if identifier not in headers):
        console.print_notice(f"notice: {identifier} is active and no longer in the index")
    return tuple(
        ctx.index.with_counts(headers[identifier]) for identifier in ids if identifier in headers
    )


# The capabilities that the setting `pin` names: each has its line in every prompt, as it is in
# every list of tools.
#
# A manifest cannot ask for that: whoever may write into an indexed folder would stand in every
# prompt.


def load_pinned(ctx: open_index.CommandContext, query: Query) -> tuple[CountedDescriptor, ...]:
    """Those of them that pass the query's filters, in the order of the setting. One that is not
    there is named on stderr.
    """
    headers = {name: ctx.index.resolve(name) for name in ctx.config["pin"]}
    for name in (name for name, header in headers.items() if header is None):
        console.print_notice(f"notice: there is no {name}, which is pinned")
    ids = list(dict.fromkeys(header["id"] for header in headers.values() if header))
    passing_headers = ctx.index.documents.headers_for(ids, replace(query, texts=())) if ids else {}
    usable = [
        identifier
        for identifier in ids
        if identifier in passing_headers
        and (
            not query.available or open_index.is_available(ctx.runtime, passing_headers[identifier])
        )
    ]
    return tuple(ctx.index.with_counts(passing_headers[identifier]) for identifier in usable)


@frozen(kw_only=True)
class RenderContext:
    """All of it. `texts` are what is asked."""

    ctx: open_index.CommandContext
    options: RenderOptions
    texts: tuple[str, ...]
    form: RenderFormat
    room: TokenLimits
    counter: TokenCounter
    relevant: RelevantCapabilities
    catalogue: CatalogueMode
    session: SessionContext
    pinned: tuple[CountedDescriptor, ...]


def prepare_render(ctx: open_index.CommandContext, options: RenderOptions) -> RenderContext:
    """The desk. Raises UsageError for what makes no sense, IndexStateError for an index without a
    capability.
    """
    tier_selection.check_options(options)
    form = tier_selection.select_format(options.shape, ctx.runtime.user_state_dir())
    limits, texts = build_token_limits(ctx.config, options.limits), _request_texts(ctx, options)
    if not len(ctx.index.documents) and not form.is_catalogue:
        hint = "write one (capdisc new skill NAME), then run: capdisc index PATH"
        raise IndexStateError("no capabilities are indexed", hint)
    query = options.request.filters.query(texts, max(limits.summaries, limits.details, 1))
    query_options.check_query(ctx, query)
    chosen = _select_tokenizer(ctx, options)
    catalogue = relevant_capabilities.select_catalogue_mode(ctx, options.prompting, query, chosen)
    counter = make_counter(chosen)
    counter.learn(ctx.index.overview["counts"])
    return RenderContext(
        ctx=ctx,
        options=options,
        texts=texts,
        form=form,
        room=limits,
        counter=counter,
        relevant=_find_capabilities(ctx, options, query, form, catalogue, counter),
        catalogue=catalogue,
        session=load_session_context(ctx, options.prompting.session),
        pinned=load_pinned(ctx, query),
    )


def _request_texts(ctx: open_index.CommandContext, options: RenderOptions) -> tuple[str, ...]:
    """The query; stdin is not it where it is a text to be added or a template."""
    request, prompting = options.request, options.prompting
    takers = [*prompting.append, prompting.template, *(request.words or ())]
    if takers.count(user_files.STDIN) > 1:
        raise UsageError("stdin can be read once", "give - in one place")
    if user_files.STDIN in takers and user_files.STDIN not in (request.words or ()):
        texts: Sequence[str] = (" ".join(request.words or ()), *(request.also or ()))
        return tuple(text.strip() for text in texts if text.strip())
    return query_options.prompt_texts(ctx.runtime, request.words, request.also)


def _select_tokenizer(ctx: open_index.CommandContext, options: RenderOptions) -> Tokenizer:
    chosen = find_tokenizer(options.limits.tokenizer or ctx.config["tokenizer"])
    if chosen.about:
        console.print_notice(f"notice: {chosen.about}")
    return chosen


def _find_capabilities(
    ctx: open_index.CommandContext,
    options: RenderOptions,
    query: Query,
    form: RenderFormat,
    catalogue: CatalogueMode,
    counter: TokenCounter,
) -> RelevantCapabilities:
    def everything() -> Everything:
        return Everything(ctx, query, form, counter)

    if catalogue.is_everything:
        return RelevantCapabilities(
            ranking=empty_ranking(query), stored=all_in_full(ctx, query), is_everything=True
        )
    if form.is_catalogue and not query.texts:
        return RelevantCapabilities(
            ranking=empty_ranking(query), is_everything=True, everything=everything()
        )
    return find_relevant(ctx, options.request, query, everything)
