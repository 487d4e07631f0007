"""What was typed for `capdisc render`, as it was typed, in groups of what belongs together."""

from __future__ import annotations

from collections.abc import Sequence

from capdisc import querying
from capdisc_indexer.frozen import frozen


@frozen(kw_only=True)
class Request:
    """What is looked for, and what of it counts."""

    words: Sequence[str] | None
    also: Sequence[str] | None
    filters: querying.Filters
    min_relevance: float
    on_empty: str
    mode: str | None
    encoder: str | None


@frozen(kw_only=True)
class Limits:
    """How much may be printed."""

    budget: int | None
    tier_budget: str
    tier_top: str
    each: int
    tokenizer: str | None


@frozen(kw_only=True)
class Shape:
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
class Prompting:
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
class Typed:
    """All of it."""

    request: Request
    limits: Limits
    shape: Shape
    prompting: Prompting
