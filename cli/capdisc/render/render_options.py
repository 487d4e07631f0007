"""What was typed for `capdisc render`, as it was typed, in groups of what belongs together."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc.args import query_options
from capdisc_indexer.model.frozen import frozen


@frozen(kw_only=True)
class QueryOptions:
    """What is looked for, and what of it counts."""

    words: Sequence[str] | None
    also: Sequence[str] | None
    filters: query_options.Filters
    min_relevance: float
    on_empty: str
    mode: str | None
    encoder: str | None
    gate: str = "auto"


@frozen(kw_only=True)
class LimitOptions:
    """How much may be printed."""

    budget: int | None
    tier_budget: str
    tier_top: str
    max_each: int
    tokenizer: str | None


@frozen(kw_only=True)
class LayoutOptions:
    """Which parts are printed, and in which form."""

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
    """What stands around the parts, and for which model."""

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
        """Whether a style was asked for, by name or through a model."""
        return bool(self.style or self.model)


@frozen(kw_only=True)
class RenderOptions:
    """All of it."""

    request: QueryOptions
    limits: LimitOptions
    shape: LayoutOptions
    prompting: PromptOptions
