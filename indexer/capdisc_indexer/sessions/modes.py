"""The way of working that a request asks for: auditable, exploratory or knowledge. Words decide,
whole ones.

A request to do something again keeps the mode, unless it names one ("redo in exploratory mode") or
compares.
"""

from __future__ import annotations

import re

MODES = ("auditable", "exploratory", "knowledge")
REDO_WORDS = frozenset({"redo", "re-do", "rerun", "re-run", "again", "repeat", "retry"})
# In the order in which they win, where a request has words of several.
MODE_TRIGGERS: dict[str, frozenset[str]] = {
    "knowledge": frozenset({"explain", "define", "definition", "meaning", "describe"}),
    "exploratory": frozenset(
        {"analyze", "analyse", "explore", "compare", "investigate", "trend", "trends"}
    ),
    "auditable": frozenset({"prove", "proof", "verify", "audit", "audited", "justify", "true"}),
}

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_NAMED_MODE = re.compile(
    rf"\b(?:in|as|with|to)\s+(?:an?\s+|the\s+)?({'|'.join(MODES)})\s+(?:mode|way)\b"
)
_MAX_CHARACTERS = 4_096


def is_redo(text: str) -> bool:
    """Whether the text asks for something to be done again.

    >>> is_redo("please re-run that"), is_redo("against all odds")
    (True, False)
    """
    return bool(REDO_WORDS & _word_set(text))


def next_mode(text: str, last_mode: str = "") -> str:
    """The mode after a request; the last one where the request says nothing about it.

    >>> next_mode("prove that x"), next_mode("redo", "auditable"), next_mode("redo in exploratory mode", "auditable")
    ('auditable', 'auditable', 'exploratory')
    """
    named = _NAMED_MODE.search(text[:_MAX_CHARACTERS].lower())
    if named:
        return named[1]
    text_words = _word_set(text)
    if REDO_WORDS & text_words:
        return "exploratory" if "compare" in text_words else last_mode
    return next((mode for mode, words in MODE_TRIGGERS.items() if words & text_words), last_mode)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_MAX_CHARACTERS].lower()))
