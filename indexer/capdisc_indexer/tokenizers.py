"""Whose tokens can be counted: those of OpenAI's models exactly, Claude's as well as one can offline, or characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from capdisc_indexer import engines
from capdisc_indexer.errors import UsageError
from capdisc_indexer.tokens import TOKENIZER, Tokenizer

# Over 150 real SKILL.md files, a reconstruction of the newest Claude tokenizer counted 1.67 times the tokens of
# o200k_base (1.90 at most); of the one before, 1.17 times (1.43). Text in capitals and Thai can have more.
CLAUDE_FACTOR = 2


def _o200k() -> Tokenizer:
    return Tokenizer(name=TOKENIZER, load=engines.token_count)


def _claude() -> Tokenizer:
    if counted := engines.claude_count():
        return Tokenizer(name="claude (ctok)", load=lambda: counted, factor=0, additive=False)
    about = f"Claude's tokens are estimated as {CLAUDE_FACTOR} × {TOKENIZER}; pip install 'capdisc[claude]' counts them"
    return Tokenizer(
        name=f"claude (estimate: {CLAUDE_FACTOR} × {TOKENIZER})",
        load=lambda: _times(engines.token_count(), CLAUDE_FACTOR),
        factor=CLAUDE_FACTOR,
        about=about,
    )


def _times(count: Callable[[str], int], factor: int) -> Callable[[str], int]:
    return lambda text: factor * count(text)


def _chars4() -> Tokenizer:
    about = "four characters are taken for one token, which is too few tokens for most models and languages"
    return Tokenizer(name="chars4", load=lambda: lambda text: -(-len(text) // 4), factor=0, additive=False, about=about)


TOKENIZERS: Mapping[str, Callable[[], Tokenizer]] = MappingProxyType(
    {"o200k": _o200k, "claude": _claude, "chars4": _chars4}
)


def size_in(chosen: Tokenizer, size: Sequence[int]) -> int:
    """The tokens of a text that has so many tokens of o200k_base and so many characters, as well as that tells them."""
    tokens, characters = size
    if chosen.name == "chars4":
        return -(-characters // 4)
    return tokens * (chosen.factor or CLAUDE_FACTOR)


def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name. Raises UsageError where there is none."""
    if name not in TOKENIZERS:
        raise UsageError(f"unknown tokenizer {name!r}", f"one of: {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]()
