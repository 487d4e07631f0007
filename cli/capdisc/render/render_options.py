"""The options of `capdisc render`, each declared once, and checks of their combinations."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Annotated

from capdisc.args import params
from capdisc.args.command_line import option
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.rendering.formats import FORMATS, find_format, list_added_formats
from capdisc_indexer.rendering.prompt_templates import STYLE_NAMES
from capdisc_indexer.rendering.render_format import OVERVIEW_HINTS, SPLIT_MODES

DETAIL_LEVELS = {"name": (1,), "summary": (1,), "full": (2,)}
ON_EMPTY = ("none", "all", "error")
# Options by their heading in help.
_budget_option = partial(option, panel="Budget")
_context_option = partial(option, panel="Context")
_prompt_option = partial(option, panel="Prompt")


@frozen(kw_only=True)
class RenderOptions:
    """The options as they were typed, or as a server or session sets them."""

    words: params.Words = None
    also: params.Also = None
    budget: Annotated[
        int | None,
        _budget_option(min=1, help="At most this many tokens in all; a hard limit."),
    ] = None
    tier_budget: Annotated[
        str,
        _budget_option(
            metavar="TIER=N,…", help="Tokens of tiers 0, 1, 2 and of memory: 0=150,1=600."
        ),
    ] = ""
    tier_top: Annotated[
        str,
        _budget_option(
            metavar="TIER=N,…", help="At most this many summaries and details: 1=5,2=2."
        ),
    ] = ""
    tokenizer: Annotated[
        str | None,
        _budget_option(
            help="How tokens are counted.",
            choices=("o200k", "claude", "chars4"),
        ),
    ] = None
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
        _context_option(help="Which tiers: 0 overview, 1 summaries, 2 detail.  [default: 0,1,2]"),
    ] = None
    detail: Annotated[
        str | None,
        _context_option(
            help="What is printed of each hit.",
            choices=tuple(DETAIL_LEVELS),
        ),
    ] = None
    split: Annotated[
        str,
        _context_option(
            help="prefix: what stays the same each turn; suffix: the rest; both, with a line between.",
            choices=SPLIT_MODES,
        ),
    ] = ""
    style: Annotated[
        str | None,
        _prompt_option(
            help="tools: a short prompt; full: everything; auto: by --model.",
            choices=STYLE_NAMES,
        ),
    ] = None
    model: Annotated[
        str,
        _prompt_option(metavar="NAME", help="The model that will read the context."),
    ] = ""
    template: Annotated[
        str,
        _prompt_option(
            metavar="FILE|NAME",
            help="Instructions around the context: minimal, tools, full, planner, phased, auditable, "
            "exploratory, knowledge, auto (by the words of the query), or a file with $placeholders.",
        ),
    ] = ""
    append: Annotated[
        list[str] | None,
        _prompt_option(metavar="FILE", help="Add this text; - is stdin (repeatable)."),
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
        _budget_option(help="Print everything in full if it is small compared with the context."),
    ] = False
    context_size: params.ContextSize = 200_000
    threshold_pct: params.ThresholdPct = 10.0
    max_each: Annotated[
        int,
        _budget_option(
            min=0,
            metavar="N",
            help="With --style full: at most this many tokens of a capability; 0: all.",
        ),
    ] = 1_250
    hint: Annotated[
        str | None,
        _context_option(
            help="How the overview says to find more.",
            choices=tuple(OVERVIEW_HINTS),
        ),
    ] = None
    hints: Annotated[
        bool,
        _context_option(help="Print in summaries when to use a capability."),
    ] = False
    by_kind: Annotated[bool, _context_option(help="Group the overview by kind first.")] = False
    diagnostics: Annotated[
        bool,
        option(
            help="Print the times of the query: in JSON, else on stderr.",
            panel="Output",
        ),
    ] = False
    min_relevance: params.MinRelevance = None
    on_empty: Annotated[
        str,
        option(
            help="If nothing fits, print the overview (none), a line for each capability (all), or nothing (error).",
            panel="Searching",
            choices=ON_EMPTY,
        ),
    ] = "none"
    gate: params.Gate = "auto"
    mode: params.Mode = None
    encoder: params.EncoderName = None

    @property
    def has_style(self) -> bool:
        """Whether an option names a style or a model, which has one."""
        return bool(self.style or self.model)

    @property
    def may_have_template(self) -> bool:
        """Whether a setting may choose a template: no option lays the prompt out."""
        return self.format == "text" and not (
            self.template or self.split or self.has_style or self.auto
        )

    @property
    def has_default_layout(self) -> bool:
        """Whether no option chooses a format, parts or a prompt around them."""
        choices = (self.tier, self.detail, self.hint, self.by_kind, self.append, self.session)
        return self.may_have_template and not any(choices)

    @property
    def levels(self) -> tuple[int, ...]:
        """The tiers that the options name. Raises UsageError for an unknown tier."""
        if self.detail:
            return DETAIL_LEVELS[self.detail]
        tiers = {part.strip() for part in (self.tier or "0,1,2").split(",")}
        if tiers - {"0", "1", "2"}:
            raise UsageError(f"unknown tier {self.tier!r}", "give 0, 1, 2 or several: --tier 1,2")
        return tuple(sorted(int(tier) for tier in tiers))


def check_options(options: RenderOptions) -> None:
    """Raises UsageError for an unknown value, and for options that do not go together."""
    form = find_format(options.format)
    check_choice("detail", options.detail, DETAIL_LEVELS)
    check_choice("split", options.split or None, SPLIT_MODES)
    check_choice("--on-empty", options.on_empty, ON_EMPTY)
    if options.tier and options.detail:
        raise UsageError("--tier and --detail exclude each other", "give one of them")
    _ = options.levels  # raises for an unknown tier
    additions = {
        "--split": options.split,
        "--template": options.template,
        "--style": options.has_style,
        "--append": options.append,
        "--session": options.session,
        "--auto": options.auto,
    }
    conflicting = [name for name, value in additions.items() if value]
    if form.is_fixed_form and conflicting:
        raise UsageError(
            f"{conflicting[0]} does not go with {options.format}", "choose another format"
        )


def check_choice(option: str, value: str | None, choices: Collection[str]) -> None:
    """Raises UsageError where the value is neither None nor one of the choices."""
    if value is not None and value not in choices:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice(option, value, choices)
