"""What does a prompt say of the capabilities that fit a task?"""

from __future__ import annotations

from capdisc.args.query_options import Filters
from capdisc.context import open_index
from capdisc.output.user_files import STDIN
from capdisc.render.context import build_context
from capdisc.render.render_context import prepare_render
from capdisc.render.render_options import (
    LayoutOptions,
    LimitOptions,
    PromptOptions,
    QueryOptions,
    RenderOptions,
)
from capdisc_indexer.model.errors import UsageError

_NOTHING = "Nothing here fits this task: {task}"


def render_prompt(ctx: open_index.CommandContext, task: str) -> str:
    """The context that `capdisc render --tier 1,2` prints for the task, within the budget of the
    settings; a sentence where nothing fits. Raises UsageError for a task without words.
    """
    if task.strip() in ("", STDIN):  # the stdin of a server holds the protocol
        raise UsageError("the task is empty", "say in a sentence what has to be done")
    render_ctx = prepare_render(ctx, _render_options(task))
    if render_ctx.relevant.is_empty:
        return _NOTHING.format(task=task)
    return render_ctx.form.format_context(render_ctx.form, build_context(render_ctx))


def _render_options(task: str) -> RenderOptions:
    return RenderOptions(
        request=QueryOptions(
            words=(task,),
            also=None,
            filters=Filters(None, None, None, None, "", False),
            min_relevance=0.0,
            on_empty="none",
            mode=None,
            encoder=None,
        ),
        limits=LimitOptions(
            budget=None, tier_budget="", tier_top="", max_each=1_250, tokenizer=None
        ),
        shape=LayoutOptions(
            format="text",
            tier="1,2",
            detail=None,
            split="",
            hint="none",
            hints=False,
            by_kind=False,
            diagnostics=False,
        ),
        prompting=PromptOptions(
            style=None,
            model="",
            template="",
            append=(),
            session=None,
            auto=False,
            context_size=200_000,
            threshold_pct=10.0,
        ),
    )
