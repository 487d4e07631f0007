"""What every render format provides.

Each piece ends with a line end and starts with something that is neither blank nor a slash, so that its tokens are
counted once, at index time, and the count of the printed text is the sum of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.frozen import frozen
from capdisc_indexer.types import Context, Descriptor

# The two levels beside the tiers: what a session remembers, and what the caller adds.
MEMORY, ADDED = 3, 4
# Said in place of the categories that an overview has no room for.
MORE_CATEGORIES = "+{count} more categories"
# Said in place of what was cut off; `show` prints the rest.
CLIPPED = "[cut to fit the budget: capdisc show {id}]\n"
# The same where there is nothing to show.
SHORTENED = "[cut to fit the budget]\n"


@frozen(kw_only=True)
class Format:
    """The pieces of one format. `levels` are the tiers it prints, `headings` and `endings` are by level; `additive`
    says that its printed text is exactly its pieces, so that no final count is needed; `suits` tells whether the format
    has a form for a kind.

    What others wrote stands between `frame_open` and `frame_close`, which get the text that is to stand there.
    """

    name: str
    levels: tuple[int, ...]
    opening: str
    closing: str
    headings: tuple[str, str, str, str, str]
    endings: tuple[str, str, str, str, str]
    category: Callable[[str], str]
    summary: Callable[[Descriptor, str], str]
    frame_open: Callable[[str, str], str]
    chunk: Callable[[str], str]
    frame_close: Callable[[str, str], str]
    printed: Callable[[Format, Context], str]
    hint: Callable[[str], str]
    literal: Callable[[str], str] = lambda text: text
    additive: bool = True
    suits: Callable[[str], bool] = lambda kind: True


def nonce(text: str) -> str:
    """Eight digits that the text does not contain, the same ones each time."""
    import hashlib

    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    while digest[:8] in text:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return digest[:8]
