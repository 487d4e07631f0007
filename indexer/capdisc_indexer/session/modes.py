"""The way of working that a request asks for: auditable, exploratory or knowledge. Words decide, whole ones.

A request to do something again keeps the mode, unless it names one ("redo in exploratory mode") or compares.
"""

from __future__ import annotations

import re

MODES = ("auditable", "exploratory", "knowledge")
REDO = frozenset({"redo", "re-do", "rerun", "re-run", "again", "repeat", "retry"})
# In the order in which they win, where a request has words of several.
TRIGGERS: dict[str, frozenset[str]] = {
    "knowledge": frozenset({"explain", "define", "definition", "meaning", "describe"}),
    "exploratory": frozenset({"analyze", "analyse", "explore", "compare", "investigate", "trend", "trends"}),
    "auditable": frozenset({"prove", "proof", "verify", "audit", "audited", "justify", "true"}),
}

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_NAMED = re.compile(rf"\b(?:in|as|with|to)\s+(?:an?\s+|the\s+)?({'|'.join(MODES)})\s+(?:mode|way)\b")
_READ = 4_096


def is_redo(text: str) -> bool:
    """Whether the text asks for something to be done again.

    >>> is_redo("please re-run that"), is_redo("against all odds")
    (True, False)
    """
    return bool(REDO & _words(text))


def mode_after(text: str, last: str = "") -> str:
    """The mode after a request; the last one where the request says nothing about it.

    >>> mode_after("prove that x"), mode_after("redo", "auditable"), mode_after("redo in exploratory mode", "auditable")
    ('auditable', 'auditable', 'exploratory')
    """
    named = _NAMED.search(text[:_READ].lower())
    if named:
        return named[1]
    said = _words(text)
    if REDO & said:
        return "exploratory" if "compare" in said else last
    return next((mode for mode, words in TRIGGERS.items() if words & said), last)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_READ].lower()))
