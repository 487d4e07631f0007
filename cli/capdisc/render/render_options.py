"""The options of `capdisc render` as they were typed, in groups by topic."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.args import query_options
from capdisc_indexer.model.frozen import frozen


@frozen(kw_only=True)
class QueryOptions:
    """The query, its filters, and what to print where little or nothing fits."""

    words: Sequence[str] | None
    also: Sequence[str] | None
    filters: query_options.Filters
    min_relevance: float | None
    on_empty: str
    mode: str | None
    encoder: str | None
    gate: str = "auto"


@frozen(kw_only=True)
class LimitOptions:
    """How many tokens may be printed."""

    budget: int | None
    tier_budget: str
    tier_top: str
    max_each: int
    tokenizer: str | None


@frozen(kw_only=True)
class LayoutOptions:
    """Which parts are printed, and in which format."""

    format: str
    tier: str | None
    detail: str | None
    split: str
    hint: str | None
    hints: bool
    by_kind: bool
    diagnostics: bool


@frozen(kw_only=True)
class PromptOptions:
    """The prompt around the parts: style, model, template, added texts, session."""

    style: str | None
    model: str
    template: str
    append: Sequence[str]
    session: str | None
    auto: bool
    context_size: int
    threshold_pct: float

    @property
    def has_style(self) -> bool:
        """Whether an option names a style or a model, which has one."""
        return bool(self.style or self.model)


@frozen(kw_only=True)
class RenderOptions:
    """All options of `capdisc render`."""

    request: QueryOptions
    limits: LimitOptions
    shape: LayoutOptions
    prompting: PromptOptions

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
