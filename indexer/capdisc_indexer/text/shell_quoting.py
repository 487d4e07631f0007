"""Words of a command line as a shell reads them, which no terminal obeys."""

from __future__ import annotations

import re
from collections.abc import Iterable

from capdisc_indexer.platforms import system
from capdisc_indexer.text.normalization import UNSAFE_CHARACTERS

# What a terminal would obey or break the line at. A long run of blanks could push the rest of a
# line out of sight.
_UNSAFE_IN_TERMINAL = re.compile(rf"[\n\t]| {{16,}}|{UNSAFE_CHARACTERS.pattern}")
_SHORT_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def quote_word(text: str, limit: int = 0) -> str:
    """The text as one word of a shell, in `$'...'` where a terminal would obey what it holds. Of a
    text longer than `limit` (0: no limit) the rest is counted, not shown.

    >>> print(quote_word("a b"), quote_word("a\\nb'"), quote_word("abcdef", 4))
    'a b' $'a\\nb\\'' abcd…<2 more characters>
    """
    if limit and len(text) > limit:
        return f"{quote_word(text[:limit])}…<{len(text) - limit:,} more characters>"
    if not _UNSAFE_IN_TERMINAL.search(text):
        return system.quote_word(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{_UNSAFE_IN_TERMINAL.sub(lambda match: ''.join(map(_escape_character, match[0])), escaped)}'"


def join_words(words: Iterable[str], limit: int = 0) -> str:
    """The words as a line for a shell. Nothing in them can paint a screen or add a command."""
    return " ".join(quote_word(word, limit) for word in words)


def _escape_character(character: str) -> str:
    code = ord(character)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python holds it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
