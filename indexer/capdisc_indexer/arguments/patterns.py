"""Patterns of schemas, matched without trusting them: a few characters can keep a regular expression busy for years."""

from __future__ import annotations

import re

LIMIT_S = 2.0
MAX_PATTERN = 2_000
# Steps that surely end at once.
_FEW = 10_000_000
# A repetition of a group doubles the ways with every character.
_SHORT = 20
_REPETITION = re.compile(r"[*+]|\{\d*,\d*\}")
_NESTED = re.compile(r"\)[*+{]")
_MATCHER = """
import re, sys
pattern, _, text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").partition("\\0")
sys.exit(10 if re.search(pattern, text) else 11)
"""


def is_loose(pattern: str, text: str) -> bool:
    """Whether matching might not come to an end soon.

    >>> is_loose("^[a-z]+$", "x" * 500), is_loose("^(a+)+$", "x" * 500)
    (False, True)
    """
    repetitions = len(_REPETITION.findall(pattern))
    if _NESTED.search(pattern):
        return len(text) > _SHORT
    return (len(text) + 1) ** (repetitions + 1) > _FEW and repetitions > 0


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text. A pattern that is none here (JavaScript knows more) lets all pass; one
    that does not come to an end in two seconds lets nothing pass."""
    compiled = _compiled(pattern)
    if compiled is None:
        return True
    return _matches_apart(pattern, text) if is_loose(pattern, text) else compiled.search(text) is not None


def _compiled(pattern: str) -> re.Pattern[str] | None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern) if len(pattern) <= MAX_PATTERN and "\0" not in pattern else None
    except (re.error, OverflowError, RecursionError):
        return None


def _matches_apart(pattern: str, text: str) -> bool:
    """In a process of its own, which can be ended."""
    import subprocess
    import sys

    said = f"{pattern}\0{text}".encode("utf-8", "surrogatepass")
    argv = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _MATCHER]
    try:
        return subprocess.run(argv, input=said, capture_output=True, timeout=LIMIT_S, check=False).returncode == 10
    except (subprocess.TimeoutExpired, OSError):
        return False
