"""Collects what a context is made of: the open index, the typed options, token limits, hits, and
the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from capdisc.args import params
from capdisc.context import open_index, query_execution, session_memory, user_files
from capdisc.output import console
from capdisc.render.frame_key import frame_key
from capdisc.render.relevant_capabilities import (
    CatalogueMode,
    CatalogueReader,
    Preload,
    RelevantCapabilities,
    all_in_full,
    empty_ranking,
    find_relevant,
    load_preload,
    offered_headers,
    select_catalogue_mode,
)
from capdisc.render.render_options import RenderOptions, check_choice, check_options
from capdisc_indexer.config.configuration import Config
from capdisc_indexer.model.errors import IndexStateError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import UNLIMITED, Budgets, Query
from capdisc_indexer.rendering.formats import find_format
from capdisc_indexer.rendering.formats.text import with_mark_key
from capdisc_indexer.rendering.index_context import split_total
from capdisc_indexer.rendering.render_format import OVERVIEW_HINTS, RenderFormat, with_hint
from capdisc_indexer.rendering.render_job import SessionMemory, count_lines
from capdisc_indexer.rendering.token_accounting import CountedDescriptor
from capdisc_indexer.text.token_counts import TokenCounter, Tokenizer, find_tokenizer, make_counter

if TYPE_CHECKING:
    from capdisc_indexer.model.types import ModeChoice

# Token limits: options before settings.

_BUDGET_SETTINGS = {
    "0": "tier0_budget",
    "1": "tier1_budget",
    "2": "tier2_budget",
    "memory": "memory_budget",
}
_TOP_SETTINGS = {"1": "tier1_top_k", "2": "tier2_top_k"}


@frozen(kw_only=True)
class TokenLimits:
    """How many tokens, summaries and details may be printed. `is_total_set` says that an option or
    a setting names the total, `is_summary_count_set` that one names the number of summaries.
    """

    budgets: Budgets
    is_total_set: bool
    summaries: int
    details: int
    is_summary_count_set: bool = False

    @property
    def full_catalogue_budgets(self) -> Budgets:
        """The budgets of a prompt that holds the whole catalogue: without a limit, unless the
        total is set.
        """
        total = self.budgets.total if self.is_total_set else UNLIMITED
        return Budgets(
            tier0=self.budgets.tier0, tier2=total, memory=self.budgets.memory, total=total
        )


def build_token_limits(config: Config, options: RenderOptions) -> TokenLimits:
    """The limits. What the total has beyond the budgets of the tiers goes to lines and details,
    unless their budgets were named. Where a total is named, it says how many lines there are.
    """
    tier_budgets = _parse_tier_numbers("--tier-budget", options.tier_budget, _BUDGET_SETTINGS)
    tops = _parse_tier_numbers("--tier-top", options.tier_top, _TOP_SETTINGS)
    tier0, tier1, tier2, memory = (
        tier_budgets.get(key, config[name]) for key, name in _BUDGET_SETTINGS.items()
    )
    total = options.budget or config["budget"]
    budgets = Budgets(tier0=tier0, tier1=tier1, tier2=tier2, memory=memory, total=total)
    shares = split_total(budgets, total)
    is_lines_set = "1" in tier_budgets or config.origins["tier1_budget"] != "default"
    is_total_set = options.budget is not None or config.origins["budget"] != "default"
    is_summary_count_set = "1" in tops or config.origins["tier1_top_k"] != "default"
    summaries = tops.get("1", config["tier1_top_k"])
    return TokenLimits(
        budgets=replace(
            shares,
            tier1=tier1 if is_lines_set else shares.tier1,
            tier2=tier2 if "2" in tier_budgets else shares.tier2,
        ),
        is_total_set=is_total_set,
        summaries=summaries if is_summary_count_set or not is_total_set else count_lines(total),
        details=tops.get("2", config["tier2_top_k"]),
        is_summary_count_set=is_summary_count_set,
    )


def _parse_tier_numbers(option: str, text: str, settings: dict[str, str]) -> dict[str, int]:
    """The numbers of `0=150,1=600` by tier. Raises UsageError for another text."""
    numbers: dict[str, int] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, _, value = (side.strip() for side in part.partition("="))
        if key not in settings or not (value.isascii() and value.isdigit() and len(value) < 9):
            raise UsageError(
                f"{option} {part!r} is not TIER=N", f"TIER is one of: {', '.join(settings)}"
            )
        numbers[key] = int(value)
    return numbers


@frozen(kw_only=True)
class SessionContext:
    """What a session adds to a prompt: its memory, which shortens itself to fit, and the active
    capabilities, which every prompt shows in full.
    """

    memory: SessionMemory | None = None
    active: tuple[CountedDescriptor, ...] = ()


def load_session_context(ctx: open_index.CommandContext, name: str | None) -> SessionContext:
    """What the session adds; nothing where none is named, or it is new."""
    if name is None:
        return SessionContext()
    memory, active_ids = session_memory.load_memory(ctx.runtime.state_dir(), name)
    return SessionContext(memory=memory, active=_load_active(ctx, active_ids))


def _load_active(
    ctx: open_index.CommandContext, ids: Sequence[str]
) -> tuple[CountedDescriptor, ...]:
    headers = ctx.index.documents.headers_for(ids, Query(texts=())) if ids else {}
    for identifier in (identifier for identifier in ids if identifier not in headers):
        console.print_notice(f"notice: {identifier} is active and no longer in the index")
    known_ids = [identifier for identifier in ids if identifier in headers]
    return ctx.index.list_with_counts(known_ids, len(ids))


# The setting `pin` names capabilities that have a line in every prompt and stand in every list of
# tools. A manifest cannot ask for that: else whoever writes into an indexed folder would stand in
# every prompt.


def load_pinned(ctx: open_index.CommandContext, query: Query) -> tuple[CountedDescriptor, ...]:
    """The pinned capabilities that pass the query's filters, in the order of the setting. A notice
    names those that are not in the index.
    """
    headers = {name: ctx.index.resolve(name) for name in ctx.config["pin"]}
    for name in (name for name, header in headers.items() if header is None):
        console.print_notice(f"notice: there is no {name}, which is pinned")
    ids = list(dict.fromkeys(header["id"] for header in headers.values() if header))
    return tuple(map(ctx.index.with_counts, offered_headers(ctx, query, ids)))


@frozen(kw_only=True)
class RenderContext:
    """Everything that a context is made of. `texts` are the texts of the query; `working_mode` is
    set where the query may choose the template.
    """

    ctx: open_index.CommandContext
    options: RenderOptions
    texts: tuple[str, ...]
    form: RenderFormat
    limits: TokenLimits
    counter: TokenCounter
    relevant: RelevantCapabilities
    catalogue_mode: CatalogueMode
    session: SessionContext
    pinned: tuple[CountedDescriptor, ...]
    working_mode: ModeChoice | None = None
    preload: Preload = Preload()


def prepare_render(
    ctx: open_index.CommandContext,
    options: RenderOptions,
    filters: params.Filters = params.Filters(),
) -> RenderContext:
    """Everything that a context is made of. Raises UsageError for options that make no sense,
    IndexStateError for an index without capabilities.
    """
    check_options(options)
    texts = _request_texts(ctx, options)
    working_mode = _choose_working_mode(ctx, options, texts)
    if working_mode or options.template == NO_TEMPLATE:
        options = replace(options, template=working_mode.mode if working_mode else "")
    form = _select_format(ctx, options)
    limits = build_token_limits(ctx.config, options)
    if not len(ctx.index.documents) and not form.is_catalogue:
        hint = "write one (capdisc new skill NAME), or name a folder: capdisc index PATH"
        raise IndexStateError("no capabilities are indexed", hint)
    query = filters.query(texts, max(limits.summaries, limits.details, 1))
    query = query_execution.check_query(ctx, query)
    tokenizer = _select_tokenizer(ctx, options)
    catalogue_mode = select_catalogue_mode(ctx, options, query, tokenizer)
    counter = make_counter(tokenizer)
    counter.learn(ctx.index.overview["counts"])
    return RenderContext(
        ctx=ctx,
        options=options,
        texts=texts,
        form=form,
        limits=limits,
        counter=counter,
        relevant=_find_capabilities(ctx, options, query, form, catalogue_mode, counter, limits),
        catalogue_mode=catalogue_mode,
        session=load_session_context(ctx, options.session),
        pinned=load_pinned(ctx, query),
        working_mode=working_mode,
        preload=_load_preload(ctx, options, query, form, catalogue_mode, counter, limits),
    )


def _select_format(ctx: open_index.CommandContext, options: RenderOptions) -> RenderFormat:
    """The format with the hint of the options, and with frame marks of this user's secret."""
    state_dir = ctx.runtime.user_state_dir()
    form = with_mark_key(find_format(options.format), cache(lambda: frame_key(state_dir)))
    check_choice("hint", options.hint, OVERVIEW_HINTS)
    return form if options.hint is None else with_hint(form, options.hint)


def _load_preload(
    ctx: open_index.CommandContext,
    options: RenderOptions,
    query: Query,
    form: RenderFormat,
    catalogue_mode: CatalogueMode,
    counter: TokenCounter,
    limits: TokenLimits,
) -> Preload:
    """What is loaded ahead, a line each; nothing where the tier of lines is not printed, or the
    context holds the whole catalogue anyway.
    """
    if (
        not (ctx.config["preload"] and 1 in options.levels)
        or form.is_fixed_form
        or catalogue_mode.is_full
    ):
        return Preload()
    return load_preload(ctx, query, counter, limits.budgets.total)


# The template that is chosen by the words of the request.
AUTO_TEMPLATE = "auto"
# No template, whatever the setting says.
NO_TEMPLATE = "none"


def _choose_working_mode(
    ctx: open_index.CommandContext, options: RenderOptions, texts: Sequence[str]
) -> ModeChoice | None:
    """The working mode, and with it the template: by the words of the request, else that of the
    session, and "" where neither names one. None where the template is not left to the request.

    An option leaves it to the request, or the setting, unless other options lay the prompt out.
    """
    is_auto_by_setting = ctx.config["template"] == AUTO_TEMPLATE and options.may_have_template
    if options.template != AUTO_TEMPLATE and not is_auto_by_setting:
        return None
    choice = session_memory.choose_mode(ctx.runtime.state_dir(), options.session, "\n".join(texts))
    if choice.mode:
        why = f"for {', '.join(choice.words)}" if choice.words else "of the session"
        console.print_notice(
            f"notice: mode {choice.mode} {why}; --template NAME prints another, --template none none"
        )
    return choice


def _request_texts(ctx: open_index.CommandContext, options: RenderOptions) -> tuple[str, ...]:
    """The texts of the query. Stdin is not read for them where it is an added text or a
    template.
    """
    names = [*(options.append or ()), options.template, *(options.words or ())]
    if names.count(user_files.STDIN) > 1:
        raise UsageError("stdin can be read once", "give - in one place")
    if user_files.STDIN in names and user_files.STDIN not in (options.words or ()):
        texts: Sequence[str] = (" ".join(options.words or ()), *(options.also or ()))
        return tuple(text.strip() for text in texts if text.strip())
    return params.prompt_texts(ctx.runtime, options.words, options.also)


def _select_tokenizer(ctx: open_index.CommandContext, options: RenderOptions) -> Tokenizer:
    tokenizer = find_tokenizer(options.tokenizer or ctx.config["tokenizer"])
    if tokenizer.about:
        console.print_notice(f"notice: {tokenizer.about}")
    return tokenizer


def _find_capabilities(
    ctx: open_index.CommandContext,
    options: RenderOptions,
    query: Query,
    form: RenderFormat,
    catalogue_mode: CatalogueMode,
    counter: TokenCounter,
    limits: TokenLimits,
) -> RelevantCapabilities:
    if catalogue_mode.is_full:
        return RelevantCapabilities(
            ranking=empty_ranking(query), stored=all_in_full(ctx, query), is_whole_catalogue=True
        )
    return find_relevant(
        ctx,
        options,
        query,
        lambda: CatalogueReader(ctx, query, form, counter),
        is_listed_whole=form.is_catalogue,
        with_distant_hits=limits.is_summary_count_set or limits.is_total_set,
        details=limits.details,
    )
