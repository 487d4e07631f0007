"""The options of `capdisc render`, declared in groups by topic."""

from __future__ import annotations

from typing import Annotated

from capdisc.args import params
from capdisc.args.params import Filters, option
from capdisc.render.gate import Gate
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.rendering.formats import FORMATS, list_added_formats


@frozen(kw_only=True)
class QueryOptions:
    """The query, and what to print where little or nothing fits."""

    words: params.Words = None
    also: params.Also = None
    min_relevance: params.MinRelevance = None
    on_empty: Annotated[
        str,
        option(
            help="If nothing fits, print the overview (none), a line for each capability (all), or nothing (error).",
            panel="Searching",
            choices=("none", "all", "error"),
        ),
    ] = "none"
    gate: Gate = "auto"
    mode: params.Mode = None
    encoder: params.EncoderName = None


@frozen(kw_only=True)
class LimitOptions:
    """How many tokens may be printed."""

    budget: Annotated[
        int | None,
        option(min=1, help="At most this many tokens in all; a hard limit.", panel="Budget"),
    ] = None
    tier_budget: Annotated[
        str,
        option(
            metavar="TIER=N,…",
            help="Tokens of tiers 0, 1, 2 and of memory: 0=150,1=600.",
            panel="Budget",
        ),
    ] = ""
    tier_top: Annotated[
        str,
        option(
            metavar="TIER=N,…",
            help="At most this many summaries and details: 1=5,2=2.",
            panel="Budget",
        ),
    ] = ""
    max_each: Annotated[
        int,
        option(
            min=0,
            metavar="N",
            help="With --style full: at most this many tokens of a capability; 0: all.",
            panel="Budget",
        ),
    ] = 1_250
    tokenizer: Annotated[
        str | None,
        option(
            help="How tokens are counted.",
            panel="Budget",
            choices=("o200k", "claude", "chars4"),
        ),
    ] = None


@frozen(kw_only=True)
class LayoutOptions:
    """Which parts are printed, and in which format."""

    format: Annotated[
        str,
        option(
            help="The layout of the context.",
            panel="Output",
            choices=tuple(FORMATS),
            more_choices=list_added_formats,
        ),
    ] = "text"
    tier: Annotated[
        str | None,
        option(
            help="Which tiers: 0 overview, 1 summaries, 2 detail.  [default: 0,1,2]",
            panel="Context",
        ),
    ] = None
    detail: Annotated[
        str | None,
        option(
            help="What is printed of each hit.",
            panel="Context",
            choices=("name", "summary", "full"),
        ),
    ] = None
    split: Annotated[
        str,
        option(
            help="prefix: what stays the same each turn; suffix: the rest; both, with a line between.",
            panel="Context",
            choices=("prefix", "suffix", "both"),
        ),
    ] = ""
    hint: Annotated[
        str | None,
        option(
            help="How the overview says to find more.",
            panel="Context",
            choices=("cli", "tool", "none"),
        ),
    ] = None
    hints: Annotated[
        bool, option(help="Print in summaries when to use a capability.", panel="Context")
    ] = False
    by_kind: Annotated[bool, option(help="Group the overview by kind first.", panel="Context")] = (
        False
    )
    diagnostics: Annotated[
        bool,
        option(help="Print the times of the query: in JSON, else on stderr.", panel="Output"),
    ] = False


@frozen(kw_only=True)
class PromptOptions:
    """The prompt around the parts: style, model, template, added texts, session."""

    style: Annotated[
        str | None,
        option(
            help="tools: a short prompt; full: everything; auto: by --model.",
            panel="Prompt",
            choices=("auto", "tools", "full"),
        ),
    ] = None
    model: Annotated[
        str, option(metavar="NAME", help="The model that will read the context.", panel="Prompt")
    ] = ""
    template: Annotated[
        str,
        option(
            metavar="FILE|NAME",
            help="Instructions around the context: minimal, tools, full, planner, phased, auditable, "
            "exploratory, knowledge, auto (by the words of the query), or a file with $placeholders.",
            panel="Prompt",
        ),
    ] = ""
    append: Annotated[
        list[str] | None,
        option(metavar="FILE", help="Add this text; - is stdin (repeatable).", panel="Prompt"),
    ] = None
    session: Annotated[
        str | None,
        option(
            metavar="NAME",
            help="Print this session's memory, and record the hits in it.",
            panel="Session",
        ),
    ] = None
    auto: Annotated[
        bool,
        option(
            help="Print everything in full where it is small compared with the context.",
            panel="Budget",
        ),
    ] = False
    context_size: params.ContextSize = 200_000
    threshold_pct: params.ThresholdPct = 10.0

    @property
    def has_style(self) -> bool:
        """Whether an option names a style or a model, which has one."""
        return bool(self.style or self.model)


@frozen(kw_only=True)
class RenderOptions:
    """All options of `capdisc render`."""

    request: QueryOptions = QueryOptions()
    filters: Filters = Filters()
    limits: LimitOptions = LimitOptions()
    shape: LayoutOptions = LayoutOptions()
    prompting: PromptOptions = PromptOptions()

    @property
    def may_have_template(self) -> bool:
        """Whether a setting may choose a template: no option lays the prompt out."""
        shape, prompting = self.shape, self.prompting
        return shape.format == "text" and not (
            prompting.template or shape.split or prompting.has_style or prompting.auto
        )

    @property
    def has_default_layout(self) -> bool:
        """Whether no option chooses a format, parts or a prompt around them."""
        shape, prompting = self.shape, self.prompting
        choices = (shape.tier, shape.detail, shape.split, shape.hint, shape.by_kind)
        additions = (prompting.template, prompting.append, prompting.session, prompting.auto)
        return shape.format == "text" and not any((*choices, *additions, prompting.has_style))
