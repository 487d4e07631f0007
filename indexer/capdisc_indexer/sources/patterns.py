"""Patterns of paths: `apis/*.json`, `docs/**/*.md`. `*` stays within a folder, `**/` is any number of folders."""

from __future__ import annotations

import re
from collections.abc import Callable

# What says the same thing twice makes matching slow.
_REPEATED = re.compile(r"(?:\*\*/)+|\*{2,}(?!/)")
_PIECE = re.compile(r"\*\*/?|\*|\?|\[!?[^]/]+\]|.", re.DOTALL)
_MEANING = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path, relative and with slashes, fits the pattern; everything fits the empty one.

    >>> fits = matcher("**/*.y[a]ml"); fits("a/b/c.yaml"), fits("c.yaml"), fits("c.yml")
    (True, True, False)
    """
    if not pattern:
        return lambda path: True
    pieces = _PIECE.findall(_REPEATED.sub(lambda found: "**/" if found[0].endswith("/") else "**", pattern))
    try:
        compiled = re.compile("".join(map(_meaning, pieces)), re.DOTALL)
    except re.error:  # a range that ends before it begins
        return lambda path: False
    return lambda path: compiled.fullmatch(path) is not None


def _meaning(piece: str) -> str:
    if piece.startswith("[") and len(piece) > 2:
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return _MEANING.get(piece) or re.escape(piece)
