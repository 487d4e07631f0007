"""What every render format provides.

Each piece ends with a line end and starts with something that is neither blank nor a slash, so that its tokens are
counted once, at index time, and the count of the printed text is the sum of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from capdisc_indexer.render.content import detail_text
from capdisc_indexer.types import Context, Descriptor

# Said in place of the categories that an overview has no room for.
MORE_CATEGORIES = "+{count} more categories"
# Said in place of what was cut off; `show` prints the rest.
CLIPPED = "[cut to fit the budget: capdisc show {id}]\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The pieces of one format. `levels` are the tiers it prints; `additive` says that its printed text is exactly its
    pieces, so that no final count is needed."""

    name: str
    levels: tuple[int, ...]
    opening: str
    closing: str
    headings: tuple[str, str, str]
    endings: tuple[str, str, str]
    category: Callable[[str], str]
    summary: Callable[[Descriptor], str]
    detail_open: Callable[[Descriptor], str]
    detail_chunk: Callable[[str], str]
    detail_close: Callable[[Descriptor], str]
    printed: Callable[[Format, Context], str]
    additive: bool = True
    suits: Callable[[Descriptor], bool] = lambda _: True


def concatenated(form: Format, context: Context) -> str:
    """The pieces one after the other; nothing at all when there is no block."""
    if not any(tier.blocks for tier in context.tiers) and form.levels != (1,):
        return ""
    parts = [form.opening]
    for tier in context.tiers:
        if tier.blocks:
            parts += [form.headings[tier.level], *(block.text for block in tier.blocks), form.endings[tier.level]]
    return "".join([*parts, form.closing])


def nonce(descriptor: Descriptor) -> str:
    """Eight digits that the capability's text does not contain, the same ones each time."""
    import hashlib

    text = detail_text(descriptor)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    while digest[:8] in text:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:8]
