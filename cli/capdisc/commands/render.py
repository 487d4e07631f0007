"""capdisc render: a context for an agent, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc.context import open_index
from capdisc.output import console
from capdisc.output.command_process import ExitCode
from capdisc.render import render_notices
from capdisc.render.context import build_context, remember_shown
from capdisc.render.render_context import RenderContext, prepare_render
from capdisc.render.render_options import RenderOptions
from capdisc_indexer.model.frozen import replace


def render(
    options: RenderOptions = RenderOptions(),
    json: Annotated[bool, option(help="The same as --format json.", panel="Output")] = False,
    into: Annotated[
        Path | None,
        option(
            metavar="FILE",
            help="Keep the context in a marked block of this file; without a query: a list of all.",
            panel="Output",
        ),
    ] = None,
    filters: params.Filters = params.Filters(),
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
    if json:
        options = replace(options, format="json")
    if into and not options.words and options.on_empty == "none":
        options = replace(options, on_empty="all")
    with open_index.open_index(index_dir, fresh, engine=engine) as ctx:
        render_ctx = prepare_render(ctx, options, filters)
        if into and not render_ctx.texts and options.has_default_layout:
            _keep_catalogue(render_ctx, into, filters)
            return ExitCode.OK
        is_error = render_ctx.relevant.is_empty and options.on_empty == "error"
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
    render_notices.print_notices(render_ctx, rendered)
    if options.diagnostics and not render_ctx.form.needs_facts:
        render_notices.print_timings(render_ctx.relevant)
    return ExitCode.FINDINGS if is_error else ExitCode.OK


def _keep_catalogue(render_ctx: RenderContext, file: Path, filters: params.Filters) -> None:
    """Keep the list of all capabilities in the marked block of the file."""
    from capdisc.setup import catalogue_block, marked_block

    ctx = render_ctx.ctx
    path = ctx.runtime.expand(file)
    block = catalogue_block.build_block(ctx, path, filters, render_ctx.options.budget)
    marked_block.keep_block(ctx.runtime, file, block.text)
    catalogue_block.print_omissions(block)


def _keep_block(render_ctx: RenderContext, file: Path, text: str) -> None:
    """Keep the context in the marked block of the file, without paths of this machine."""
    from capdisc.setup import catalogue_block, marked_block

    runtime = render_ctx.ctx.runtime
    marked_block.keep_block(runtime, file, catalogue_block.shorten_paths(text, runtime))
