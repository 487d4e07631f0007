"""Words as a shell reads them, on one line: nobody can paint a screen or add a command with what they hold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from capdisc_indexer.errors import InputError
from capdisc_indexer.text import UNSAFE

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# What a terminal would obey or break the line at; a long run of blanks could fill up a line as well.
_PAINTS = re.compile(rf"[\n\t]| {{16,}}|{UNSAFE.pattern}")
_SHORT = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def quoted(text: str, limit: int = 0) -> str:
    """The text as one word of a shell, in `$'...'` where it holds what cannot be shown as it is. Of a word longer than
    `limit` (0: none) the rest is counted, not shown.

    >>> print(quoted("a b"), quoted("a\\nb'"), quoted("abcdef", 4))
    'a b' $'a\\nb\\'' abcd…<2 more characters>
    """
    if limit and len(text) > limit:
        return f"{quoted(text[:limit])}…<{len(text) - limit:,} more characters>"
    if not _PAINTS.search(text):
        return shlex.quote(text)
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{_PAINTS.sub(lambda match: ''.join(map(_escaped, match[0])), escaped)}'"


def joined(words: Iterable[str], limit: int = 0) -> str:
    """The words as a line for a shell."""
    return " ".join(quoted(word, limit) for word in words)


def variable(name: str) -> str:
    """The name, if it is one that stands in a shell behind `$` and says nothing else. Raises InputError."""
    if not _VARIABLE.fullmatch(name):
        raise InputError(f"{name[:80]!r} is no name of a secret", "letters, digits and _, no digit first")
    return name


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python holds it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
