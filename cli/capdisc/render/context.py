"""From what was typed and found to a context that keeps its budget."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from capdisc import sessions
from capdisc.context import open_index, surroundings
from capdisc.output import user_files
from capdisc.render import tier_selection
from capdisc.render.relevant_capabilities import (
    CountedDescriptor,
    is_filtered,
    offered_heads,
    offered_places,
)
from capdisc.render.render_context import RenderContext
from capdisc_indexer.indexing.category_overview import summarise_by_kind, summarise_categories
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.json_types import CategoryRecord, OverviewCard, Requirements
from capdisc_indexer.model.types import (
    Budgets,
    Context,
    Descriptor,
    LayoutPiece,
    PrintOptions,
    Query,
)
from capdisc_indexer.rendering import Guidance, RenderInputs, assemble
from capdisc_indexer.rendering.formats.format import RenderFormat
from capdisc_indexer.rendering.layout import DISCOVERY_INSTRUCTIONS
from capdisc_indexer.rendering.templates import (
    Descriptors,
    PromptTemplate,
    fill_template,
    list_templates,
    load_builtin,
)
from capdisc_indexer.rendering.token_accounting import learn_counts, learn_guidance
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.normalization import strip_controls
from capdisc_indexer.text.token_counts import TokenCounter

# What the tiers are made from, read from the index with the counts that it stored.


def learn_stored_counts(
    counter: TokenCounter, form: RenderFormat, stored: Sequence[CountedDescriptor]
) -> list[Descriptor]:
    """The capabilities, their counts given to the counter."""
    for descriptor, counts in stored:
        learn_counts(counter, form, descriptor, counts)
    return [descriptor for descriptor, _ in stored]


def overview_lines(
    ctx: open_index.CommandContext, query: Query, kinds_first: bool
) -> Sequence[CategoryRecord]:
    """The lines of the overview: as the build made them, or anew of what passes the filters."""
    if not kinds_first and not is_filtered(query):
        return ctx.index.overview["categories"]
    cards = _cards(ctx, query)
    return summarise_by_kind(cards) if kinds_first else summarise_categories(cards)


def _cards(asked: open_index.CommandContext, query: Query) -> Iterator[OverviewCard]:
    """Kind, name and category of what may be shown."""
    columns, places = asked.index.columns, offered_places(asked, query)
    if is_told_by_columns(query):
        return map(columns.card, places)
    heads = offered_heads(asked, query, [columns.ids[place] for place in places])
    return (
        OverviewCard(kind=head["kind"], name=head["name"], category=head.get("category", ""))
        for head in heads
    )


def missing_by_capability(
    ctx: open_index.CommandContext, descriptors: Sequence[Descriptor]
) -> dict[str, tuple[str, ...]]:
    """What each lacks here: secrets, programs, the system."""
    needs: dict[str, Requirements] = {
        d.id: {"secrets": d.secrets, "bins": d.bins, "systems": d.systems} for d in descriptors
    }
    lacking = {
        identifier: open_index.missing_requirements(ctx.runtime, requirements)
        for identifier, requirements in needs.items()
    }
    return {identifier: names for identifier, names in lacking.items() if names}


def category_guidance(
    render_ctx: RenderContext, descriptors: Iterable[Descriptor]
) -> dict[str, Guidance]:
    """What is to be known of the categories of these, by category in one case."""
    entries = render_ctx.ctx.index.guidance(d.category for d in descriptors)
    if entries:
        texts = {entry["category"]: entry["text"] for entry in entries.values()}
        learn_guidance(
            render_ctx.counter,
            render_ctx.form,
            render_ctx.ctx.index.meta("guidance")["counts"],
            texts,
        )
    return {
        name: Guidance(category=each["category"], text=each["text"])
        for name, each in entries.items()
    }


# The template that was asked for, by path or by name, filled in.

MAX_TEMPLATE_BYTES = 256 * 1024
_SUFFIXES = (".txt", ".md")


def load_layout(
    runtime: surroundings.Runtime,
    template: str,
    hint: str,
    model: str,
    texts: tuple[str, ...],
    needed: tuple[str, ...],
) -> tuple[LayoutPiece, ...]:
    """The pieces of the template. Raises UsageError for a name or a placeholder that there is not,
    InputError for a file that cannot be read.
    """
    values = {
        "tools": DISCOVERY_INSTRUCTIONS[hint],
        "model": model,
        "query": strip_controls("\n".join(texts)),
        "date": surroundings.today(),
    }
    return fill_template(_load_template(runtime, template), values, needed)


def _load_template(runtime: surroundings.Runtime, template: str) -> PromptTemplate:
    """Whatever looks like a path is one; a name is one that comes along, else a file in a folder
    of templates.
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
    base = Path(runtime.environ.get("XDG_CONFIG_HOME") or runtime.home / ".config")
    return runtime.workspace / ".capdisc" / "templates", base / "capdisc" / "templates"


def read_text_file(runtime: surroundings.Runtime, name: str) -> str:
    """The text of a file that the user named. Raises InputError for one that is too large, or no
    UTF-8.
    """
    data = user_files.read_file_or_stdin(
        runtime, name, MAX_TEMPLATE_BYTES, "name a text that is meant for a prompt"
    )
    try:
        return strip_controls(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8", "save it as UTF-8") from error


# What a request that is said back word for word leaves for everything else.
_MIN_REMAINING_TOKENS = 40


def build_context(render_ctx: RenderContext) -> Context:
    """The context. Raises UsageError where the budget is too small for anything."""
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
    """Tell the session, if one is named, which answers are about to be printed."""
    if render_ctx.texts and not render_ctx.relevant.is_everything:
        shown = [
            block.id for tier in context.tiers if tier.level in (1, 2) for block in tier.blocks
        ]
        hits = {hit.id for hit in render_ctx.relevant.ranking.hits}
        ids = [identifier for identifier in dict.fromkeys(shown) if identifier in hits]
        sessions.remember_printed(render_ctx.ctx.runtime, render_ctx.options.prompting.session, ids)


def build_render_inputs(render_ctx: RenderContext) -> RenderInputs:
    """What the context is made from."""
    shape, all_of_it = render_ctx.options.shape, render_ctx.catalogue.is_everything
    active = learn_stored_counts(render_ctx.counter, render_ctx.form, render_ctx.session.active)
    always = learn_stored_counts(render_ctx.counter, render_ctx.form, render_ctx.pinned)
    descriptors = _descriptors(render_ctx, {descriptor.id for descriptor in always})
    details = (
        None if all_of_it else 0 if render_ctx.relevant.is_everything else render_ctx.room.details
    )
    levels = _select_levels(render_ctx)
    lines = (
        overview_lines(render_ctx.ctx, render_ctx.relevant.ranking.query, shape.by_kind)
        if 0 in levels
        else ()
    )
    return RenderInputs(
        overview=lines,
        descriptors=descriptors,
        pinned_summaries=always,
        pinned=active,
        levels=levels,
        summaries=None if render_ctx.relevant.is_everything else render_ctx.room.summaries,
        details=details,
        missing=_missing(render_ctx, descriptors, [*active, *always]),
        guidance=category_guidance(render_ctx, [*active, *islice(descriptors, details)])
        if 2 in levels
        else {},
        memory=render_ctx.session.memory,
        appended=_appended_texts(render_ctx),
        ids_only=shape.detail == "name",
        hints=shape.hints,
        equal_shares=all_of_it,
        max_tokens_each=render_ctx.options.limits.max_each
        if all_of_it and render_ctx.catalogue.style
        else 0,
    )


def _descriptors(render_ctx: RenderContext, always: Collection[str]) -> Descriptors:
    """What was found; of everything, what is not always shown anyway."""
    if render_ctx.relevant.everything is None:
        return learn_stored_counts(render_ctx.counter, render_ctx.form, render_ctx.relevant.stored)
    render_ctx.relevant.everything.leave_out(always)
    return render_ctx.relevant.everything


def _missing(
    render_ctx: RenderContext, descriptors: Iterable[Descriptor], others: Sequence[Descriptor]
) -> Mapping[str, Sequence[str]]:
    """What each lacks here; of everything, what is known so far, and more as it is read."""
    if render_ctx.form.is_catalogue:
        return {}
    if render_ctx.relevant.everything is None:
        return missing_by_capability(render_ctx.ctx, [*descriptors, *others])
    render_ctx.relevant.everything.missing.update(missing_by_capability(render_ctx.ctx, others))
    return render_ctx.relevant.everything.missing


def _select_levels(render_ctx: RenderContext) -> tuple[int, ...]:
    """The tiers to print. Without a query there is nothing to say in tiers 1 and 2 but what is
    always shown, unless the text must begin as it does with one.
    """
    levels = tier_selection.parse_levels(render_ctx.options.shape)
    if render_ctx.form.is_catalogue:
        return (1,)
    if render_ctx.catalogue.is_everything:
        return (2,)
    if (
        render_ctx.texts
        or _has_layout(render_ctx)
        or render_ctx.options.shape.split
        or render_ctx.form.is_always_split
    ):
        return levels
    shown = {0: True, 1: render_ctx.pinned, 2: render_ctx.session.active}
    return tuple(level for level in levels if shown[level])


def _select_budgets(render_ctx: RenderContext) -> Budgets:
    budgets = render_ctx.room.budgets
    if render_ctx.form.is_catalogue:
        return Budgets(tier1=budgets.total, total=budgets.total)
    if render_ctx.catalogue.is_everything:
        return render_ctx.room.full_catalogue_budgets
    return replace(budgets, tier1=budgets.total) if render_ctx.relevant.is_everything else budgets


def _has_layout(render_ctx: RenderContext) -> bool:
    return bool(render_ctx.options.prompting.template or render_ctx.catalogue.style)


def _build_printing(render_ctx: RenderContext) -> PrintOptions:
    shape = render_ctx.options.shape
    return PrintOptions(
        layout=_template_layout(render_ctx) if _has_layout(render_ctx) else (),
        split=shape.split,
        request=_request_text(render_ctx) if render_ctx.form.needs_request else "",
        facts=_context_facts(render_ctx) if render_ctx.form.needs_facts else {},
    )


# What most calls need nothing of is imported where it is needed: each start of `render` counts.
def _context_facts(render_ctx: RenderContext) -> dict[str, Any]:
    from capdisc.render.render_notices import build_context_facts

    return build_context_facts(
        render_ctx.relevant,
        render_ctx.pinned,
        render_ctx.catalogue,
        render_ctx.options.shape.diagnostics,
    )


def _appended_texts(render_ctx: RenderContext) -> list[str]:
    if not render_ctx.options.prompting.append:
        return []

    return [
        read_text_file(render_ctx.ctx.runtime, name) for name in render_ctx.options.prompting.append
    ]


def _template_layout(render_ctx: RenderContext) -> tuple[LayoutPiece, ...]:

    prompting = render_ctx.options.prompting
    name = prompting.template or (
        render_ctx.catalogue.style.name if render_ctx.catalogue.style else ""
    )
    needed = [
        part
        for part, is_there in (("append", prompting.append), ("memory", prompting.session))
        if is_there
    ]
    hint = render_ctx.options.shape.hint or "cli"
    return load_layout(
        render_ctx.ctx.runtime, name, hint, prompting.model, render_ctx.texts, tuple(needed)
    )


def _request_text(render_ctx: RenderContext) -> str:
    """What the user asks, word for word. Raises UsageError where it leaves no room for anything
    else.
    """
    text = strip_controls("\n".join(render_ctx.texts))
    total = _select_budgets(render_ctx).total
    if text and (tokens := render_ctx.counter.count(text)) > total - _MIN_REMAINING_TOKENS:
        remaining_note = f"and {_MIN_REMAINING_TOKENS} are needed beside it: {total:,} are too few"
        message = f"the request alone has {tokens:,} tokens, {remaining_note}"
        raise UsageError(message, "give a larger --budget, or a format that does not repeat it")
    return text
