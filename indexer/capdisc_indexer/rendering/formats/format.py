"""What every render format provides.

Each piece ends with a line end and starts with something that is neither blank nor a slash, so
that its tokens are counted once, at index time, and the count of the printed text is the sum of
its pieces.
"""

from __future__ import annotations

from collections.abc import Callable

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Context, Descriptor

# The two levels beside the tiers: what a session remembers, and what the caller adds.
MEMORY, APPENDED = 3, 4
# Said in place of the categories that an overview has no room for.
MORE_CATEGORIES = "+{count} more categories"
# Said in place of what was cut off; `show` prints the rest.
CLIPPED_MARK = "[cut to fit the budget: capdisc show {id}]\n"
# The same where there is nothing to show.
SHORTENED_MARK = "[cut to fit the budget]\n"
# One guess in a text is right once in 10^12 times.
MARK_DIGITS = 12


@frozen(kw_only=True)
class RenderFormat:
    """The pieces of one format. `levels` are the tiers it prints, `headings` and `endings` are by
    level; `additive` says that its printed text is exactly its pieces, so that no final count is
    needed; `suits` tells whether the format has a form for a kind.

    What others wrote stands between `frame_open` and `frame_close`, which get the text that is to
    stand there.
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
    format_context: Callable[[RenderFormat, Context], str]
    hint: Callable[[str], str]
    literal: Callable[[str], str] = lambda text: text
    additive: bool = True
    suits: Callable[[str], bool] = lambda kind: True


def frame_mark(text: str, key: bytes = b"") -> str:
    """Twelve digits that the text does not contain, the same ones each time. Without the key, at
    most 64 bytes, nobody computes them: keyed BLAKE2 is a message authentication code by itself
    (RFC 7693), and hashlib has it already.

    Digits, since o200k_base cuts them into threes of one token each (measured: all 1,000): every
    mark counts alike, so that an index holds the counts of frames whose marks it cannot know.
    """
    import hashlib

    digest = hashlib.blake2b(text.encode("utf-8", "replace"), key=key, digest_size=16).digest()
    while (mark := f"{int.from_bytes(digest) % 10**MARK_DIGITS:0{MARK_DIGITS}d}") in text:
        digest = hashlib.blake2b(digest, key=key, digest_size=16).digest()
    return mark
