"""Whether a prompt tells some of the catalogue or all of it: by style, by model, or by what all of it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capdisc import asking
from capdisc.rendering.everything import offered_heads, offered_places
from capdisc.rendering.finding import is_filtered
from capdisc.rendering.shaping import one_of
from capdisc.rendering.typed import Prompting
from capdisc_indexer.columns import is_told_by_columns
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.tokenizers import size_in
from capdisc_indexer.tokens import Tokenizer
from capdisc_indexer.types import Query

if TYPE_CHECKING:
    from capdisc_indexer.render.models import Style


@frozen(kw_only=True)
class Disclosure:
    """What is told. `static_tokens` is what all of it would cost, `allowed` what it may cost before a part of it is
    told instead (None: that was not asked)."""

    style: Style | None
    is_everything: bool
    static_tokens: int
    allowed: int | None = None

    @property
    def choice(self) -> str:
        """In one word."""
        return "static" if self.is_everything else "progressive"


def disclosure(asked: asking.Asked, prompting: Prompting, query: Query, tokenizer: Tokenizer) -> Disclosure:
    """What to tell. Raises UsageError for a style that there is not."""
    style = _style(prompting) if prompting.has_style else None
    static = size_in(tokenizer, _size(asked, query))
    is_full = style is not None and not style.use_tools
    if not prompting.auto or is_full:
        return Disclosure(style=style, is_everything=is_full, static_tokens=static)
    allowed = int(prompting.context_size * prompting.threshold_pct / 100)
    if style and static <= allowed:
        style = replace(style, name="full", reason="all of it is small beside the context")
    return Disclosure(style=style, is_everything=static <= allowed, static_tokens=static, allowed=allowed)


def _style(prompting: Prompting) -> Style:
    from capdisc_indexer.render.models import STYLES, style_for

    one_of("style", prompting.style, STYLES)
    return style_for(prompting.model, prompting.style or "auto")


def _size(asked: asking.Asked, query: Query) -> list[int]:
    """Tokens and characters of all capabilities in full, of those alone that pass the filters."""
    if not is_filtered(query):
        static: list[int] = asked.index.meta("overview")["static"]
        return static
    columns, places = asked.index.columns, offered_places(asked, query)
    if is_told_by_columns(query):
        return columns.size(places)
    heads = offered_heads(asked, query, [columns.ids[place] for place in places])
    tokens = characters = 0
    for head in heads:
        tokens += head["size"][0]
        characters += head["size"][1]
    return [tokens, characters]
