"""capdisc render: a context for an agent, within a budget."""

from __future__ import annotations

from pathlib import Path

from capdisc import asking, options, output, querying
from capdisc.exit_codes import ExitCode
from capdisc.rendering import options as own
from capdisc.rendering import telling
from capdisc.rendering.context import context, remember
from capdisc.rendering.desk import prepared
from capdisc.rendering.typed import Limits, Prompting, Request, Shape, Typed


def render(
    words: options.Words = None,
    also: options.Also = None,
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
    max_each: own.Each = 1_250,
    hint: own.Hint = None,
    hints: own.Hints = False,
    by_kind: own.ByKind = False,
    diagnostics: own.Diagnostics = False,
    min_relevance: own.MinRelevance = 0.0,
    on_empty: own.OnEmpty = "none",
    kind: options.Kind = None,
    category: options.Category = None,
    tag: options.Tag = None,
    exclude: options.Exclude = None,
    max_risk: options.MaxRisk = "",
    available: options.Available = False,
    mode: options.Mode = None,
    encoder: options.EncoderName = None,
    index_dir: options.IndexDir = None,
) -> int:
    """Print a context for a query, for any agent: an overview, summaries, and the best capabilities in full.

    The query comes from the arguments, or from stdin with - or through a pipe. Without a query: the overview, and
    what the setting pin names (or, as skills-xml, the skills that fit the budget). Nothing but the context goes to
    stdout.

    Example: capdisc render "merge two PDF files" --budget 1200 | llm
    """
    filters = querying.Filters(kind, category, tag, exclude, max_risk, available)
    typed = Typed(
        request=Request(
            words=words,
            also=also,
            filters=filters,
            min_relevance=min_relevance,
            on_empty=on_empty,
            mode=mode,
            encoder=encoder,
        ),
        limits=Limits(budget=budget, tier_budget=tier_budget, tier_top=tier_top, each=max_each, tokenizer=tokenizer),
        shape=Shape(
            format="json" if json else format,
            tier=tier,
            detail=detail,
            split=split,
            hint=hint,
            hints=hints,
            by_kind=by_kind,
            diagnostics=diagnostics,
        ),
        prompting=Prompting(
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
    return _render(typed, index_dir)


def _render(typed: Typed, index_dir: Path | None) -> int:
    with asking.opened(index_dir) as asked:
        desk = prepared(asked, typed)
        if desk.found.is_empty and typed.request.on_empty == "error":
            telling.nothing(desk.found)
            return ExitCode.FINDINGS
        made = context(desk)
        remember(desk, made)
        output.result(desk.form.printed(desk.form, made))
    telling.tell(desk.found, desk.told, made)
    if typed.shape.diagnostics and desk.form.name != "json":
        telling.times(desk.found)
    return ExitCode.OK
