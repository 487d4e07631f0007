"""Builds the context of `render`: `build_context`, then inputs of tiers, budgets and template."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from capdisc.context import open_index, session_memory, surroundings, user_files
from capdisc.output import console
from capdisc.render.relevant_capabilities import (
    Preload,
    add_to_layout,
    offered_headers,
    offered_places,
)
from capdisc.render.render_context import RenderContext
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CategoryRecord, JsonObject, OverviewCard, Requirements
from capdisc_indexer.model.types import (
    Budgets,
    Context,
    Descriptor,
    LayoutPiece,
    PrintOptions,
    Query,
)
from capdisc_indexer.rendering.assembly import assemble
from capdisc_indexer.rendering.capability_text import request_words
from capdisc_indexer.rendering.index_context import (
    catalogue_budgets,
    learn_stored_counts,
    load_guidance,
)
from capdisc_indexer.rendering.prompt_templates import (
    DISCOVERY_INSTRUCTIONS,
    PromptTemplate,
    fill_template,
    list_templates,
    load_builtin,
)
from capdisc_indexer.rendering.render_job import Descriptors, RenderInputs
from capdisc_indexer.rendering.token_accounting import CountedDescriptor
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.normalization import strip_controls

# A format that repeats the request leaves at least this many tokens for everything else.
_MIN_REMAINING_TOKENS = 40


def build_context(render_ctx: RenderContext) -> Context:
    """The context within its budget, without what is loaded ahead where the budget has no room for
    that. Raises UsageError where the budget is too small for anything.
    """
    if not render_ctx.preload.text:
        return _assemble_context(render_ctx)
    try:
        return _assemble_context(render_ctx)
    except UsageError:
        context = _assemble_context(replace(render_ctx, preload=Preload()))
    console.print_notice("notice: the budget has no room for what is loaded ahead")
    return context


def _assemble_context(render_ctx: RenderContext) -> Context:
    printing = _build_printing(render_ctx)
    return assemble(
        build_render_inputs(render_ctx),
        render_ctx.relevant.ranking,
        render_ctx.form,
        _select_budgets(render_ctx),
        render_ctx.counter,
        printing,
    )


def remember_shown(render_ctx: RenderContext, context: Context) -> None:
    """Record in the session, if one is named, which hits are about to be printed, and the mode
    that the request asks for.
    """
    if render_ctx.texts and not render_ctx.relevant.is_whole_catalogue:
        shown = [
            block.id for tier in context.tiers if tier.level in (1, 2) for block in tier.blocks
        ]
        hits = {hit.id for hit in render_ctx.relevant.ranking.hits}
        ids = [identifier for identifier in dict.fromkeys(shown) if identifier in hits]
        ctx, name = render_ctx.ctx, render_ctx.options.session
        if name is not None:
            session_memory.remember_printed(ctx.runtime, name, ids)
            session_memory.remember_request(ctx.runtime, name, "\n".join(render_ctx.texts))
        if ctx.config["log"]:
            session_memory.log_event(ctx.runtime, "render", ids, render_ctx.texts, name)


def build_render_inputs(render_ctx: RenderContext) -> RenderInputs:
    """What the tiers are made of."""
    options, is_full = render_ctx.options, render_ctx.catalogue_mode.is_full
    active = _learn_counts(render_ctx, render_ctx.session.active)
    pinned = _learn_counts(render_ctx, render_ctx.pinned)
    descriptors = _descriptors(render_ctx, {descriptor.id for descriptor in pinned})
    details: int | None = render_ctx.limits.details
    if is_full:
        details = None
    elif render_ctx.relevant.is_whole_catalogue:
        details = 0
    levels = _select_levels(render_ctx)
    lines = (
        overview_lines(render_ctx.ctx, render_ctx.relevant.ranking.query, options.by_kind)
        if 0 in levels
        else ()
    )
    return RenderInputs(
        overview=lines,
        descriptors=descriptors,
        pinned_summaries=pinned,
        pinned=active,
        levels=levels,
        summaries=None if render_ctx.relevant.is_whole_catalogue else render_ctx.limits.summaries,
        details=details,
        missing=_missing(render_ctx, descriptors, [*active, *pinned]),
        guidance=load_guidance(
            render_ctx.ctx.index,
            render_ctx.counter,
            render_ctx.form,
            [*active, *islice(descriptors, details)],
        )
        if 2 in levels
        else {},
        memory=render_ctx.session.memory,
        appended=_appended_texts(render_ctx),
        is_overview_last=_is_overview_last(render_ctx),
        ids_only=options.detail == "name",
        hints=options.hints,
        equal_shares=is_full,
        max_tokens_each=render_ctx.options.max_each
        if is_full and render_ctx.catalogue_mode.style
        else 0,
        workspace=render_ctx.ctx.runtime.path_base,
    )


def _descriptors(render_ctx: RenderContext, pinned_ids: Collection[str]) -> Descriptors:
    """The capabilities of the hits; of the whole catalogue, those that are not pinned."""
    if render_ctx.relevant.catalogue_reader is None:
        # What is listed in full has no limit of details.
        details = None if render_ctx.relevant.is_whole_catalogue else render_ctx.limits.details
        return _learn_counts(render_ctx, render_ctx.relevant.stored, details)
    render_ctx.relevant.catalogue_reader.leave_out(pinned_ids)
    return render_ctx.relevant.catalogue_reader


def _learn_counts(
    render_ctx: RenderContext, stored: Iterable[CountedDescriptor], details: int | None = None
) -> list[Descriptor]:
    words = request_words(render_ctx.relevant.ranking.query.texts)
    return learn_stored_counts(render_ctx.counter, render_ctx.form, stored, details, words)


def _missing(
    render_ctx: RenderContext, descriptors: Iterable[Descriptor], added: Sequence[Descriptor]
) -> Mapping[str, Sequence[str]]:
    """What each capability lacks here, by id; for the whole catalogue, the mapping grows as
    capabilities are read.
    """
    if render_ctx.form.is_catalogue:
        return {}
    if render_ctx.relevant.catalogue_reader is None:
        return missing_by_capability(render_ctx.ctx, [*descriptors, *added])
    render_ctx.relevant.catalogue_reader.missing.update(
        missing_by_capability(render_ctx.ctx, added)
    )
    return render_ctx.relevant.catalogue_reader.missing


def _select_levels(render_ctx: RenderContext) -> tuple[int, ...]:
    """The tiers to print. Without a query, tiers 1 and 2 hold only what is pinned or active, and
    are left out where nothing is, unless the text must begin as it does with a query.
    """
    levels = render_ctx.options.levels
    if render_ctx.form.is_catalogue:
        return (1,)
    if render_ctx.catalogue_mode.is_full:
        return (2,)
    if render_ctx.texts or _is_stable(render_ctx):
        return levels
    has_lines = render_ctx.relevant.is_whole_catalogue or render_ctx.pinned
    shown = {0: True, 1: has_lines, 2: render_ctx.session.active}
    return tuple(level for level in levels if shown[level])


def _is_stable(render_ctx: RenderContext) -> bool:
    """Whether the text begins alike from turn to turn."""
    is_split = render_ctx.options.split or render_ctx.form.is_always_split
    return bool(is_split or _has_layout(render_ctx))


def _is_overview_last(render_ctx: RenderContext) -> bool:
    """Whether the answer goes before the overview: where there is one, and nobody asks for an
    overview or for a text that begins alike from turn to turn.
    """
    options = render_ctx.options
    is_chosen = options.tier or options.by_kind or options.hint or _is_stable(render_ctx)
    return bool(render_ctx.relevant.ranking.hits) and not is_chosen


def _select_budgets(render_ctx: RenderContext) -> Budgets:
    budgets = render_ctx.limits.budgets
    if render_ctx.form.is_catalogue:
        return catalogue_budgets(budgets.total)
    if render_ctx.catalogue_mode.is_full:
        return render_ctx.limits.full_catalogue_budgets
    return (
        replace(budgets, tier1=budgets.total)
        if render_ctx.relevant.is_whole_catalogue
        else budgets
    )


def _has_layout(render_ctx: RenderContext) -> bool:
    return bool(render_ctx.options.template or render_ctx.catalogue_mode.style)


def _build_printing(render_ctx: RenderContext) -> PrintOptions:
    layout = _template_layout(render_ctx) if _has_layout(render_ctx) else ()
    return PrintOptions(
        layout=add_to_layout(layout, render_ctx.preload) if render_ctx.preload.text else layout,
        split=render_ctx.options.split,
        request=_request_text(render_ctx) if render_ctx.form.needs_request else "",
        facts=_context_facts(render_ctx) if render_ctx.form.needs_facts else {},
    )


def _context_facts(render_ctx: RenderContext) -> JsonObject:
    # Imported here, since most calls need none of it.
    from capdisc.render.render_notices import build_context_facts

    return build_context_facts(render_ctx)


def _request_text(render_ctx: RenderContext) -> str:
    """The user's request word for word. Raises UsageError where it leaves no room for anything
    else.
    """
    text = strip_controls("\n".join(render_ctx.texts))
    total = _select_budgets(render_ctx).total
    if text and (tokens := render_ctx.counter.count(text)) > total - _MIN_REMAINING_TOKENS:
        raise UsageError(
            f"the request alone has {tokens:,} tokens, and {_MIN_REMAINING_TOKENS} are needed "
            f"besides it: {total:,} are too few",
            "give a larger --budget, or a format that does not repeat it",
        )
    return text


# What the tiers are made of besides the hits.


def overview_lines(
    ctx: open_index.CommandContext, query: Query, kinds_first: bool
) -> Sequence[CategoryRecord]:
    """Categories of the overview: as stored, or made again of what passes the filters."""
    if not kinds_first and not query.filters:
        return ctx.index.overview["categories"]
    # Which most contexts do not need.
    from capdisc_indexer.indexing.category_overview import summarise_by_kind, summarise_categories

    cards = _cards(ctx, query)
    return summarise_by_kind(cards) if kinds_first else summarise_categories(cards)


def _cards(ctx: open_index.CommandContext, query: Query) -> Iterator[OverviewCard]:
    """Kind, name and category of each capability that passes the filters."""
    columns, places = ctx.index.columns, offered_places(ctx, query)
    if is_told_by_columns(query):
        return map(columns.card, places)
    headers = offered_headers(ctx, query, [columns.ids[place] for place in places])
    return (
        OverviewCard(kind=header["kind"], name=header["name"], category=header.get("category", ""))
        for header in headers
    )


def missing_by_capability(
    ctx: open_index.CommandContext, descriptors: Sequence[Descriptor]
) -> dict[str, tuple[str, ...]]:
    """The secrets, programs and systems that capabilities lack here, by id."""
    missing: dict[str, tuple[str, ...]] = {}
    for d in descriptors:
        requirements: Requirements = {"secrets": d.secrets, "bins": d.bins, "systems": d.systems}
        if names := open_index.missing_requirements(ctx.runtime, requirements):
            missing[d.id] = names
    return missing


# Templates.

MAX_TEMPLATE_BYTES = 256 * 1024
_SUFFIXES = (".txt", ".md")


def _load_template(runtime: surroundings.Runtime, template: str) -> PromptTemplate:
    """The template at a path, or of this name: a built-in one, else a file in a folder of
    templates. Any text that looks like a path is one.
    """
    if template == user_files.STDIN or "/" in template or template.endswith(_SUFFIXES):
        return PromptTemplate(name=template, text=read_text_file(runtime, template))
    if template in list_templates():
        return load_builtin(template)
    for folder in _template_folders(runtime):
        for suffix in _SUFFIXES:
            if (path := folder / f"{template}{suffix}").is_file():
                return PromptTemplate(name=str(path), text=read_text_file(runtime, str(path)))
    folders = " and ".join(str(folder) for folder in _template_folders(runtime))
    raise UsageError(
        f"there is no template {template!r}",
        f"one of: {', '.join(list_templates())}; a path; or a .txt file in {folders}",
    )


def _template_folders(runtime: surroundings.Runtime) -> tuple[Path, Path]:
    return runtime.workspace / ".capdisc" / "templates", runtime.user_config.with_name("templates")


def read_text_file(runtime: surroundings.Runtime, name: str) -> str:
    """The text of a file that the user named. Raises InputError for one that is too large or not
    UTF-8.
    """
    data = user_files.read_file_or_stdin(
        runtime, name, MAX_TEMPLATE_BYTES, "name a text that is meant for a prompt"
    )
    try:
        return strip_controls(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8", "save it as UTF-8") from error


def _appended_texts(render_ctx: RenderContext) -> list[str]:
    runtime = render_ctx.ctx.runtime
    return [read_text_file(runtime, name) for name in render_ctx.options.append or ()]


def _template_layout(render_ctx: RenderContext) -> tuple[LayoutPiece, ...]:
    """The pieces of the template or of the style's prompt, filled in. Raises UsageError for an
    unknown name or placeholder, InputError for a file that cannot be read.
    """
    options, style = render_ctx.options, render_ctx.catalogue_mode.style
    values = {
        "tools": DISCOVERY_INSTRUCTIONS[options.hint or "cli"],
        "model": options.model,
        "query": strip_controls("\n".join(render_ctx.texts)),
        "date": surroundings.today(),
    }
    required = {"append": options.append, "memory": options.session}
    name = options.template or (style.name if style else "")
    template = _load_template(render_ctx.ctx.runtime, name)
    return fill_template(template, values, [part for part, value in required.items() if value])
