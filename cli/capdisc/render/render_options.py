"""The options of `capdisc render` as they were typed, in groups by topic."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.args import query_options
from capdisc_indexer.model.frozen import frozen


@frozen(kw_only=True)
class QueryOptions:
    """The query, its filters, and what to print where little or nothing fits."""

    words: Sequence[str] | None
    also: Sequence[str] | None = None
    filters: query_options.Filters = query_options.Filters()
    min_relevance: float | None = None
    on_empty: str = "none"
    mode: str | None = None
    encoder: str | None = None
    gate: str = "auto"


@frozen(kw_only=True)
class LimitOptions:
    """How many tokens may be printed."""

    budget: int | None = None
    tier_budget: str = ""
    tier_top: str = ""
    max_each: int = 1_250
    tokenizer: str | None = None


@frozen(kw_only=True)
class LayoutOptions:
    """Which parts are printed, and in which format."""

    format: str = "text"
    tier: str | None = None
    detail: str | None = None
    split: str = ""
    hint: str | None = None
    hints: bool = False
    by_kind: bool = False
    diagnostics: bool = False


@frozen(kw_only=True)
class PromptOptions:
    """The prompt around the parts: style, model, template, added texts, session."""

    style: str | None = None
    model: str = ""
    template: str = ""
    append: Sequence[str] = ()
    session: str | None = None
    auto: bool = False
    context_size: int = 200_000
    threshold_pct: float = 10.0

    @property
    def has_style(self) -> bool:
        """Whether an option names a style or a model, which has one."""
        return bool(self.style or self.model)


@frozen(kw_only=True)
class RenderOptions:
    """All options of `capdisc render`."""

    request: QueryOptions
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
