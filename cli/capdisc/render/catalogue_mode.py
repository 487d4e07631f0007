"""Whether a prompt tells some of the catalogue or all of it: by style, by model, or by what all of
it would cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capdisc.context import open_index
from capdisc.render.relevant_capabilities import is_filtered
from capdisc.render.render_options import PromptOptions
from capdisc.render.tier_selection import check_choice
from capdisc.render.whole_catalogue import offered_heads, offered_places
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.model.types import Query
from capdisc_indexer.store.columns import is_told_by_columns
from capdisc_indexer.text.token_counts import Tokenizer, count_size

if TYPE_CHECKING:
    from capdisc_indexer.rendering.templates import PromptStyle


@frozen(kw_only=True)
class CatalogueMode:
    """What is told. `static_tokens` is what all of it would cost, `allowed` what it may cost
    before a part of it is told instead (None: that was not asked).
    """

    style: PromptStyle | None
    is_everything: bool
    static_tokens: int
    allowed_tokens: int | None = None

    @property
    def choice(self) -> str:
        """In one word."""
        return "static" if self.is_everything else "progressive"


def select_catalogue_mode(
    ctx: open_index.CommandContext, prompting: PromptOptions, query: Query, tokenizer: Tokenizer
) -> CatalogueMode:
    """What to tell. Raises UsageError for a style that there is not."""
    style = _select_style(prompting) if prompting.has_style else None
    static = count_size(tokenizer, _catalogue_size(ctx, query))
    is_full = style is not None and not style.use_tools
    if not prompting.auto or is_full:
        return CatalogueMode(style=style, is_everything=is_full, static_tokens=static)
    allowed = int(prompting.context_size * prompting.threshold_pct / 100)
    if style and static <= allowed:
        style = replace(style, name="full", reason="all of it is small beside the context")
    return CatalogueMode(
        style=style, is_everything=static <= allowed, static_tokens=static, allowed_tokens=allowed
    )


def _select_style(prompting: PromptOptions) -> PromptStyle:
    from capdisc_indexer.rendering.templates import STYLE_NAMES, select_style

    check_choice("style", prompting.style, STYLE_NAMES)
    return select_style(prompting.model, prompting.style or "auto")


def _catalogue_size(ctx: open_index.CommandContext, query: Query) -> list[int]:
    """Tokens and characters of all capabilities in full, of those alone that pass the filters."""
    if not is_filtered(query):
        static: list[int] = ctx.index.meta("overview")["static"]
        return static
    columns, places = ctx.index.columns, offered_places(ctx, query)
    if is_told_by_columns(query):
        return columns.size(places)
    heads = offered_heads(ctx, query, [columns.ids[place] for place in places])
    tokens = characters = 0
    for header in heads:
        tokens += header["size"][0]
        characters += header["size"][1]
    return [tokens, characters]
