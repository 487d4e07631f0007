"""capdisc render: a context for an agent, within a budget."""

from __future__ import annotations

from pathlib import Path

from capdisc.args import params, query_options
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.exit_codes import ExitCode
from capdisc.render import option_declarations as own
from capdisc.render import render_notices
from capdisc.render.context import build_context, remember_shown
from capdisc.render.render_context import prepare_render
from capdisc.render.render_options import (
    LayoutOptions,
    LimitOptions,
    PromptOptions,
    QueryOptions,
    RenderOptions,
)


def render(
    words: params.Words = None,
    also: params.Also = None,
    budget: own.Budget = None,
    tier_budget: own.TierBudget = "",
    tier_top: own.TierTop = "",
    tokenizer: own.TokenizerName = None,
    format: own.FormatName = "text",
    json: own.Json = False,
    tier: own.Tiers = None,
    detail: own.Detail = None,
    split: own.Split = "",
    style: own.StyleName = None,
    model: own.Model = "",
    template: own.TemplateName = "",
    append: own.Append = None,
    session: own.SessionName = None,
    auto: own.Auto = False,
    context_size: own.ContextSize = 200_000,
    threshold_pct: own.ThresholdPct = 10.0,
    max_each: own.MaxEach = 1_250,
    hint: own.Hint = None,
    hints: own.Hints = False,
    by_kind: own.ByKind = False,
    diagnostics: own.Diagnostics = False,
    min_relevance: own.MinRelevance = 0.0,
    on_empty: own.OnEmpty = "none",
    kind: params.Kind = None,
    category: params.Category = None,
    tag: params.Tag = None,
    exclude: params.Exclude = None,
    max_risk: params.MaxRisk = "",
    available: params.Available = False,
    mode: params.Mode = None,
    encoder: params.EncoderName = None,
    index_dir: params.IndexDir = None,
) -> int:
    """Print a context for a query, for any agent: an overview, summaries, and the best
    capabilities in full.

    The query comes from the arguments, or from stdin with - or through a pipe. Without a query:
    the overview, and what the setting pin names (or, as skills-xml, the skills that fit the
    budget). Nothing but the context goes to stdout.

    Example: capdisc render "merge two PDF files" --budget 1200 | llm
    """
    filters = query_options.Filters(kind, category, tag, exclude, max_risk, available)
    options = RenderOptions(
        request=QueryOptions(
            words=words,
            also=also,
            filters=filters,
            min_relevance=min_relevance,
            on_empty=on_empty,
            mode=mode,
            encoder=encoder,
        ),
        limits=LimitOptions(
            budget=budget,
            tier_budget=tier_budget,
            tier_top=tier_top,
            max_each=max_each,
            tokenizer=tokenizer,
        ),
        shape=LayoutOptions(
            format="json" if json else format,
            tier=tier,
            detail=detail,
            split=split,
            hint=hint,
            hints=hints,
            by_kind=by_kind,
            diagnostics=diagnostics,
        ),
        prompting=PromptOptions(
            style=style,
            model=model,
            template=template,
            append=append or (),
            session=session,
            auto=auto,
            context_size=context_size,
            threshold_pct=threshold_pct,
        ),
    )
    return _print_context(options, index_dir)


def _print_context(options: RenderOptions, index_dir: Path | None) -> int:
    with open_index.open_index(index_dir) as ctx:
        render_ctx = prepare_render(ctx, options)
        if render_ctx.relevant.is_empty and options.request.on_empty == "error":
            render_notices.print_nothing_fits(render_ctx.relevant)
            return ExitCode.FINDINGS
        rendered = build_context(render_ctx)
        remember_shown(render_ctx, rendered)
        console.print_result(render_ctx.form.format_context(render_ctx.form, rendered))
    render_notices.print_notices(render_ctx.relevant, render_ctx.catalogue, rendered)
    if options.shape.diagnostics and render_ctx.form.name != "json":
        render_notices.print_timings(render_ctx.relevant)
    return ExitCode.OK
