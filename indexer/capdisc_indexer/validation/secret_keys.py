"""Finds keys of known services by their shape, and masks them: what is printed goes into logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

# How keys begin, and the rest of their shape. Searching a plain prefix is fast, a choice is not.
_TAILS = {
    "AKIA": r"[0-9A-Z]{16}\b",
    "ASIA": r"[0-9A-Z]{16}\b",
    "ghp_": r"[A-Za-z0-9]{36}\b",
    "gho_": r"[A-Za-z0-9]{36}\b",
    "ghu_": r"[A-Za-z0-9]{36}\b",
    "ghs_": r"[A-Za-z0-9]{36}\b",
    "ghr_": r"[A-Za-z0-9]{36}\b",
    "github_pat_": r"[A-Za-z0-9_]{60,}",
    "glpat-": r"[\w-]{20}\b",
    "xox": r"[abprs]-[A-Za-z0-9-]{20,}",
    "AIza": r"[\w-]{35}\b",
    "sk-": r"(?=[\w-]{0,60}[0-9])(?=[\w-]{0,60}?[A-Za-z0-9]{16})(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
    "sk_live_": r"[A-Za-z0-9]{20,}",
    "rk_live_": r"[A-Za-z0-9]{20,}",
    "hf_": r"[A-Za-z]{34}\b",
    "npm_": r"[A-Za-z0-9]{36}\b",
    "eyJ": r"[\w-]{16,2000}+\.eyJ[\w-]{16,2000}+\.[\w-]{16}",
    "-----BEGIN ": r"(?:[A-Z]{1,10} )?PRIVATE KEY-----\s{1,9}[A-Za-z0-9+/=]{16}",
}
# A token is only tried at the start of a word, since each of its parts can be as long as a page.
_LEFT_CONTEXT = {"eyJ": r"(?<![\w-])"}
SECRET_SHAPES = {
    prefix: re.compile(
        rf"{_LEFT_CONTEXT.get(prefix, '(?<![A-Za-z0-9])')}{re.escape(prefix)}{tail}"
    )
    for prefix, tail in _TAILS.items()
}
_LOWER_PREFIXES = tuple(prefix.lower() for prefix in SECRET_SHAPES)
# Placeholders for a user's own key, and keys that services print in their documentation: of AWS
# (which all hold the word EXAMPLE), GitHub, Google and Slack, and the tokens of jwt.io and of the
# Supabase demo by their payloads.
_PLACEHOLDER = re.compile(
    r"(?i)x{6,}|your|0{8,}|1234567|\.\.\.|abcdef|example|placeholder|redacted|changeme|ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    r"|AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe|xoxb-17653672481-|eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l"
    r"|eyJpc3MiOiJzdXBhYmFzZS1kZW1v"
)
_ELIDED = re.compile(r"\s{0,9}(?:\.\.\.|\u2026|\[|<)")  # behind the first letters of a private key
# The parts of a key beyond its shape: the other lines of a private one, the end of any other.
_LINES = re.compile(
    r"[A-Za-z0-9+/=]*+(?:\s{1,9}[A-Za-z0-9+/=]{16,}+)*+(?:\s{1,9}[A-Za-z0-9+/=]++(?=\s{1,9}-----END))?"
)
_WORD_END = re.compile(r"[\w-]*+")
_LINE = re.compile(r"[^\n]+")
_PREFIX_LENGTH = 12  # letters of a key, with its prefix, that identify it


def key_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each key in a text, kind by kind; placeholders are no keys."""
    for prefix in filter(text.__contains__, SECRET_SHAPES):
        for match in SECRET_SHAPES[prefix].finditer(text):
            if not _PLACEHOLDER.search(match[0]):
                tail_match = (_LINES if prefix[0] == "-" else _WORD_END).match(text, match.end())
                end = tail_match.end() if tail_match else match.end()
                if prefix[0] != "-" or not _ELIDED.match(text, end):
                    yield match.start(), end


def mask_keys(text: str) -> str:
    """The text with `[secret]` and stars in the place of keys: as long as before, so that no place
    in it moves.

    >>> mask_keys("Use AKIA" + "Q" * 16 + " here")
    'Use [secret]************ here'
    """
    return _cover_spans(text, key_spans(text))


def key_prefixes(text: str) -> frozenset[str]:
    """The first letters of each key of a text, in lower case; they identify a part of the key."""
    return frozenset(text[start : start + _PREFIX_LENGTH].lower() for start, _ in key_spans(text))


def may_quote_a_key(text: str) -> bool:
    """Whether the text holds the prefix of a key, so that a closer look is worth its time."""
    lowered = text.lower()
    return any(prefix in lowered for prefix in _LOWER_PREFIXES)


def mask_known_keys(text: str, known_keys: Set[str]) -> str:
    """The text with its keys masked, and everything that begins with one of `known_keys`, prefixes
    by `key_prefixes`: also keys that are cut short or in lower case.

    >>> mask_known_keys("write akiaqqqqqqqqqq", key_prefixes("AKIA" + "Q" * 16))
    'write [secret]******'
    """
    shown = mask_keys(text)
    return _cover_spans(shown, _known_key_spans(shown, known_keys))


def _known_key_spans(text: str, known_keys: Set[str]) -> Iterator[tuple[int, int]]:
    for start in range(len(text) - _PREFIX_LENGTH + 1):
        if text[start : start + _PREFIX_LENGTH].lower() in known_keys and (
            tail_match := _WORD_END.match(text, start + _PREFIX_LENGTH)
        ):
            yield start, tail_match.end()


def _cover_spans(text: str, places: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in sorted(places):
        if end > at:
            parts += [text[at:start], _LINE.sub(_stars, text[max(at, start) : end])]
            at = end
    return "".join((*parts, text[at:]))


def _stars(line: re.Match[str]) -> str:
    return "[secret]".ljust(len(line[0]), "*")[: len(line[0])]
