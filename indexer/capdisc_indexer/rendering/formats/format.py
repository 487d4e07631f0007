"""What a render format consists of, and the marks that frame what others wrote.

Each piece of a format ends with a line end and starts with something that is neither blank nor a
slash. So no token spans two pieces: the tokens of a piece are counted once, at index time, and the
count of the printed text is the sum of its pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Context, Descriptor

# The two levels besides the tiers: what a session remembers, and what the caller adds.
MEMORY, APPENDED = 3, 4
# Printed in place of the categories that an overview has no room for.
MORE_CATEGORIES = "+{count} more categories"
# Printed where the text of one or several sections is left out.
LEFT_OUT_MARK = "[…]\n"
# Printed below a text some of whose sections are left out; `show` prints them.
CLIPPED_MARK = "[what is left out: capdisc show {id} --section HEADING]\n"
# The same for a text that `show` cannot print.
SHORTENED_MARK = "[cut to fit the budget]\n"
# One guess in a text is right once in 10^12 times.
MARK_DIGITS = 12


@frozen(kw_only=True)
class RenderFormat:
    """The pieces of one format, and what it needs of the rest.

    `levels` are the tiers that it prints; `headings` and `endings` are by level, `opening` and
    `closing` enclose all of them. Texts of others stand between `frame_open` and `frame_close`,
    which are called with the label and the text between them, and pass through `chunk`; texts of
    a template pass through `literal`. `summary` is called with the line and the path of the file,
    and `location` with the path: one of the two prints it. `format_context` puts the whole context
    together.

    - `additive`: the printed text is exactly its pieces, so that no final count is needed.
    - `is_counted_ahead`: the index stores the token counts of the pieces. Setting it for another
      format changes what an index holds.
    - `counted_as`: the name of the format whose stored counts are those of its lines and frames;
      "" where no format has the same.
    - `has_closing_tags`: an ending closes what its heading opened, so that a hint goes before it.
    - `is_always_split`: the half that stays the same from turn to turn is printed apart, so that
      its tiers are needed without a query, too.
    - `needs_facts`: prints what is known of the query and of each result; without it, diagnostics
      go to stderr.
    - `needs_request`: repeats the user's request, which counts against the budget.
    - `is_fixed_form`: another program defines the form, which has no place for a template, a
      session or other texts.
    - `suits`: whether the format can print a capability of this kind.
    """

    name: str
    levels: tuple[int, ...]
    opening: str
    closing: str
    headings: tuple[str, str, str, str, str]
    endings: tuple[str, str, str, str, str]
    category: Callable[[str], str]
    summary: Callable[[Descriptor, str, str], str]
    frame_open: Callable[[str, str], str]
    chunk: Callable[[str], str]
    frame_close: Callable[[str, str], str]
    format_context: Callable[[RenderFormat, Context], str]
    hint: Callable[[str], str]
    location: Callable[[str], str] = lambda path: ""
    literal: Callable[[str], str] = lambda text: text
    additive: bool = True
    is_counted_ahead: bool = False
    counted_as: str = ""
    has_closing_tags: bool = False
    is_always_split: bool = False
    needs_facts: bool = False
    needs_request: bool = False
    is_fixed_form: bool = False
    suits: Callable[[str], bool] = lambda kind: True

    @property
    def is_catalogue(self) -> bool:
        """Whether the format has tier 1 alone: a list of capabilities without any text in full."""
        return self.levels == (1,)


@lru_cache(maxsize=1)  # the end of a frame has the mark of its beginning
def frame_mark(text: str, key: bytes = b"") -> str:
    """The twelve digits that mark the frame of a text: not in the text, and the same each time.
    Nobody without the key, of at most 64 bytes, can compute them: keyed BLAKE2 is a message
    authentication code by itself (RFC 7693).

    Digits, since o200k_base cuts them into threes of one token each (measured: all 1,000): every
    mark counts alike, so that an index holds the counts of frames whose marks it cannot know.
    """
    blake2b = lazy_imports.blake2b()
    digest = blake2b(text.encode("utf-8", "replace"), key=key, digest_size=16).digest()
    while (mark := f"{int.from_bytes(digest) % 10**MARK_DIGITS:0{MARK_DIGITS}d}") in text:
        digest = blake2b(digest, key=key, digest_size=16).digest()
    return mark
