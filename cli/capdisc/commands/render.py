"""capdisc render: a context for an agent, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params, query_options
from capdisc.args.params import option
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.failures import ExitCode
from capdisc.render import render_notices
from capdisc.render.context import build_context, remember_shown
from capdisc.render.gate import Gate
from capdisc.render.render_context import RenderContext, prepare_render
from capdisc.render.render_options import (
    LayoutOptions,
    LimitOptions,
    PromptOptions,
    QueryOptions,
    RenderOptions,
)
from capdisc_indexer.rendering.formats import FORMATS, list_added_formats

# The options of `capdisc render` that no other command has.

Budget = Annotated[
    int | None,
    option(
        "--budget", min=1, help="At most this many tokens in all; a hard limit.", panel="Budget"
    ),
]
TierBudget = Annotated[
    str,
    option(
        "--tier-budget",
        metavar="TIER=N,…",
        help="Tokens of tiers 0, 1, 2 and of memory: 0=150,1=600.",
        panel="Budget",
    ),
]
TierTop = Annotated[
    str,
    option(
        "--tier-top",
        metavar="TIER=N,…",
        help="At most this many summaries and details: 1=5,2=2.",
        panel="Budget",
    ),
]
MaxEach = Annotated[
    int,
    option(
        "--max-each",
        min=0,
        metavar="N",
        help="With --style full: at most this many tokens of a capability; 0: all.",
        panel="Budget",
    ),
]
TokenizerName = Annotated[
    str | None,
    option(
        "--tokenizer",
        help="How tokens are counted.",
        panel="Budget",
        choices=("o200k", "claude", "chars4"),
    ),
]
FormatName = Annotated[
    str,
    option(
        "--format",
        help="The layout of the context.",
        panel="Output",
        choices=tuple(FORMATS),
        more_choices=list_added_formats,
    ),
]
Json = Annotated[bool, option("--json", help="The same as --format json.", panel="Output")]
Tiers = Annotated[
    str | None,
    option(
        "--tier",
        help="Which tiers: 0 overview, 1 summaries, 2 detail.  [default: 0,1,2]",
        panel="Context",
    ),
]
Detail = Annotated[
    str | None,
    option(
        "--detail",
        help="What is printed of each hit.",
        panel="Context",
        choices=("name", "summary", "full"),
    ),
]
Split = Annotated[
    str,
    option(
        "--split",
        help="prefix: what stays the same each turn; suffix: the rest; both, with a line between.",
        panel="Context",
        choices=("prefix", "suffix", "both"),
    ),
]
Hint = Annotated[
    str | None,
    option(
        "--hint",
        help="How the overview says to find more.",
        panel="Context",
        choices=("cli", "tool", "none"),
    ),
]
Hints = Annotated[
    bool, option("--hints", help="Print in summaries when to use a capability.", panel="Context")
]
ByKind = Annotated[
    bool, option("--by-kind", help="Group the overview by kind first.", panel="Context")
]
Diagnostics = Annotated[
    bool,
    option(
        "--diagnostics",
        help="Print the times of the query: in JSON, else on stderr.",
        panel="Output",
    ),
]
StyleName = Annotated[
    str | None,
    option(
        "--style",
        help="tools: a short prompt; full: everything; auto: by --model.",
        panel="Prompt",
        choices=("auto", "tools", "full"),
    ),
]
Model = Annotated[
    str,
    option(
        "--model", metavar="NAME", help="The model that will read the context.", panel="Prompt"
    ),
]
TemplateName = Annotated[
    str,
    option(
        "--template",
        metavar="FILE|NAME",
        help="Instructions around the context: minimal, tools, full, planner, phased, auditable, "
        "exploratory, knowledge, auto (by the words of the query), or a file with $placeholders.",
        panel="Prompt",
    ),
]
Append = Annotated[
    list[str] | None,
    option(
        "--append", metavar="FILE", help="Add this text; - is stdin (repeatable).", panel="Prompt"
    ),
]
SessionName = Annotated[
    str | None,
    option(
        "--session",
        metavar="NAME",
        help="Print this session's memory, and record the hits in it.",
        panel="Session",
    ),
]
Auto = Annotated[
    bool,
    option(
        "--auto",
        help="Print everything in full where it is small beside the context.",
        panel="Prompt",
    ),
]
ContextSize = Annotated[
    int,
    option(
        "--context-size", min=1, help="With --auto: tokens of the model's context.", panel="Prompt"
    ),
]
ThresholdPct = Annotated[
    float,
    option(
        "--threshold-pct",
        min=0,
        max=100,
        callback=params.check_finite,
        help="With --auto: the percentage of the context that counts as small.",
        panel="Prompt",
    ),
]
OnEmpty = Annotated[
    str,
    option(
        "--on-empty",
        help="If nothing fits, print the overview (none), a line for each capability (all), or nothing (error).",
        panel="Searching",
        choices=("none", "all", "error"),
    ),
]
Into = Annotated[
    Path | None,
    option(
        "--into",
        metavar="FILE",
        help="Keep the context in a marked block of this file; without a query: a list of all.",
        panel="Output",
    ),
]


def render(
    words: params.Words = None,
    also: params.Also = None,
    budget: Budget = None,
    tier_budget: TierBudget = "",
    tier_top: TierTop = "",
    tokenizer: TokenizerName = None,
    format: FormatName = "text",
    json: Json = False,
    tier: Tiers = None,
    detail: Detail = None,
    split: Split = "",
    style: StyleName = None,
    model: Model = "",
    template: TemplateName = "",
    append: Append = None,
    session: SessionName = None,
    auto: Auto = False,
    context_size: ContextSize = 200_000,
    threshold_pct: ThresholdPct = 10.0,
    max_each: MaxEach = 1_250,
    hint: Hint = None,
    hints: Hints = False,
    by_kind: ByKind = False,
    diagnostics: Diagnostics = False,
    min_relevance: params.MinRelevance = None,
    on_empty: OnEmpty = "none",
    gate: Gate = "auto",
    into: Into = None,
    filters: query_options.Filters = query_options.Filters(),
    mode: params.Mode = None,
    encoder: params.EncoderName = None,
    index_dir: params.IndexDir = None,
    fresh: params.Fresh = None,
    engine: params.Engine = None,
) -> int:
    """Print a context for a query, for any agent: an overview, summaries, and the best
    capabilities in full.

    The query comes from the arguments, or from stdin with - or through a pipe. Without a query:
    the overview, and what the setting pin names (or, as skills-xml, the skills that fit the
    budget). Nothing but the context goes to stdout.

    Example: capdisc render "merge two PDF files" --budget 1200 | llm
    """
    options = RenderOptions(
        request=QueryOptions(
            words=words,
            also=also,
            filters=filters,
            min_relevance=min_relevance,
            on_empty="all" if into and not words and on_empty == "none" else on_empty,
            mode=mode,
            encoder=encoder,
            gate=gate,
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
    return _print_context(options, index_dir, fresh, engine, into)


def _print_context(
    options: RenderOptions,
    index_dir: Path | None,
    fresh: str | None,
    engine: str | None,
    into: Path | None,
) -> int:
    with open_index.open_index(index_dir, fresh, engine=engine) as ctx:
        render_ctx = prepare_render(ctx, options)
        if into and not render_ctx.texts and options.has_default_layout:
            _keep_catalogue(render_ctx, into)
            return ExitCode.OK
        is_error = render_ctx.relevant.is_empty and options.request.on_empty == "error"
        # A program that asked for JSON gets the document that says so.
        if is_error and not render_ctx.form.needs_facts:
            render_notices.print_nothing_fits(render_ctx.relevant)
            return ExitCode.FINDINGS
        rendered = build_context(render_ctx)
        remember_shown(render_ctx, rendered)
        text = render_ctx.form.format_context(render_ctx.form, rendered)
        if into:
            _keep_block(render_ctx, into, text)
        else:
            console.print_result(text)
    render_notices.print_notices(render_ctx.relevant, render_ctx.catalogue_mode, rendered)
    if options.shape.diagnostics and not render_ctx.form.needs_facts:
        render_notices.print_timings(render_ctx.relevant)
    return ExitCode.FINDINGS if is_error else ExitCode.OK


def _keep_catalogue(render_ctx: RenderContext, file: Path) -> None:
    """Keep the list of all capabilities in the marked block of the file."""
    from capdisc.setup import catalogue_block, marked_block

    ctx, options = render_ctx.ctx, render_ctx.options
    path = ctx.runtime.expand(file)
    block = catalogue_block.build_block(ctx, path, options.request.filters, options.limits.budget)
    marked_block.keep_block(ctx.runtime, file, block.text)
    catalogue_block.print_omissions(block)


def _keep_block(render_ctx: RenderContext, file: Path, text: str) -> None:
    """Keep the context in the marked block of the file, without paths of this machine."""
    from capdisc.setup import catalogue_block, marked_block

    runtime = render_ctx.ctx.runtime
    marked_block.keep_block(runtime, file, catalogue_block.shorten_paths(text, runtime))
