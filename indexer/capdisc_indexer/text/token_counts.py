"""Token counts of texts: those of OpenAI's models exactly, Claude's as well as one can offline, or
an estimate by characters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.text.normalization import compile_late
from capdisc_indexer.text.o200k import load_counter

DEFAULT_TOKENIZER = "o200k_base"
# Lines whose counts are cached: 5 MB. Of the lines in 1,717 different skills, a third had
# appeared in another one before.
_CACHE_SIZE = 20_000

# A new chunk may start where the tokenizer certainly splits: after a line end, unless the next
# line is blank or starts with a slash (o200k and cl100k glue line ends to following line ends, and
# ".\n/" together).
_CHUNK = compile_late(r"[^\n]*(?:\n|\Z)(?:(?:[^\S\n]*(?:\n|\Z))|/[^\n]*(?:\n|\Z))*")

# The token counts of many texts.
CountMany: TypeAlias = Callable[[list[str]], list[int]]


@frozen(kw_only=True)
class Tokenizer:
    """A tokenizer by name; `load` gives its counter.

    `factor` turns the counts that an index stores, of o200k_base, into counts of this tokenizer
    (0: they say nothing about it). `additive` says that the counts of chunks add up to that of the
    whole text. `about` explains an estimate to its user.
    """

    name: str
    load: Callable[[], Callable[[str], int]]
    factor: int = 1
    additive: bool = True
    about: str = ""


class TokenCounter:
    """Counts tokens and caches the counts. The tokenizer is loaded for the first unknown text, so
    that a render of stored pieces loads none.

    With `load_bulk`, the counter that it gives counts lists of texts.
    """

    def __init__(
        self,
        load: Callable[[], Callable[[str], int]],
        name: str = DEFAULT_TOKENIZER,
        *,
        factor: int = 1,
        additive: bool = True,
        load_bulk: Callable[[], CountMany] | None = None,
    ) -> None:
        self.name, self.additive = name, additive
        self._exact, self._factor = _LateCounter(load), factor
        self._load_bulk = load_bulk
        self._exact_many: CountMany | None = None
        self._counts: dict[str, int] = {"": 0}
        self._lessons: deque[Callable[[TokenCounter], None]] = deque()
        self._count_line = lru_cache(_CACHE_SIZE)(self._exact)

    def learn(self, counts: Mapping[str, int]) -> None:
        """Takes over stored counts of o200k_base tokens, by text, if this tokenizer can use
        them.
        """
        if self._factor == 1:
            self._counts.update(counts)
        elif self._factor:
            self._counts.update({text: self._factor * count for text, count in counts.items()})

    def learn_later(self, lesson: Callable[[TokenCounter], None]) -> None:
        """Calls the lesson, which learns counts, once a text is unknown after all earlier lessons:
        a context has room for half of the capabilities whose counts are at hand.
        """
        self._lessons.append(lesson)

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        count = self._counts.get(text)
        while count is None and self._lessons:
            self._lessons.popleft()(self)
            count = self._counts.get(text)
        if count is None:
            count = self._counts[text] = self.exact(text)
        return count

    def count_many(self, texts: list[str]) -> list[int]:
        """The number of tokens of each text, most of which are lines."""
        if self._exact_many is None and self._load_bulk is not None:
            self._exact_many = self._load_bulk()
        if self._exact_many is not None:
            return self._exact_many(texts)
        return list(map(self._count_line, texts))

    def exact(self, text: str) -> int:
        """The number of tokens by the tokenizer itself, without the cache."""
        return self._exact(text)


class _LateCounter:
    """The function of a tokenizer that counts, loaded when it is first called.

    It knows nothing of the caches that call it, so that these are freed with their context: a
    server looks for cycles seldom.
    """

    def __init__(self, load: Callable[[], Callable[[str], int]]) -> None:
        self._load = load
        self._count: Callable[[str], int] | None = None

    def __call__(self, text: str) -> int:
        if self._count is None:
            self._count = self._load()
        return self._count(text)


def make_counter(tokenizer: Tokenizer) -> TokenCounter:
    """A counter of this tokenizer's tokens."""
    return TokenCounter(
        tokenizer.load, tokenizer.name, factor=tokenizer.factor, additive=tokenizer.additive
    )


def split_chunks(text: str) -> list[str]:
    """The text cut at line ends into chunks whose token counts add up exactly to that of the
    whole.

    >>> split_chunks("a\\n\\nb\\n")
    ['a\\n\\n', 'b\\n']
    """
    return [piece for piece in _CHUNK.findall(text) if piece]


# Over 150 real SKILL.md files, a reconstruction of the newest Claude tokenizer counted 1.67 times
# the tokens of o200k_base (1.90 at most); of the one before, 1.17 times (1.43). Text in capitals
# and Thai can have more.
CLAUDE_FACTOR = 2


def _o200k() -> Tokenizer:
    return Tokenizer(name=DEFAULT_TOKENIZER, load=load_counter)


def _claude() -> Tokenizer:
    if count_tokens := lazy_imports.load_claude_counter():
        return Tokenizer(name="claude (ctok)", load=lambda: count_tokens, factor=0, additive=False)
    from capdisc_indexer.installation import extra_hint

    about = (
        f"Claude's tokens are estimated as {CLAUDE_FACTOR} × {DEFAULT_TOKENIZER}; to count them, "
        f"{extra_hint('claude')}"
    )
    return Tokenizer(
        name=f"claude (estimate: {CLAUDE_FACTOR} × {DEFAULT_TOKENIZER})",
        load=lambda: _multiply_counts(load_counter(), CLAUDE_FACTOR),
        factor=CLAUDE_FACTOR,
        about=about,
    )


def _multiply_counts(count: Callable[[str], int], factor: int) -> Callable[[str], int]:
    return lambda text: factor * count(text)


def _chars4() -> Tokenizer:
    about = (
        "four characters are taken for one token, "
        "which is too few tokens for most models and languages"
    )
    return Tokenizer(
        name="chars4",
        load=lambda: lambda text: -(-len(text) // 4),
        factor=0,
        additive=False,
        about=about,
    )


TOKENIZERS: Mapping[str, Callable[[], Tokenizer]] = MappingProxyType(
    {"o200k": _o200k, "claude": _claude, "chars4": _chars4}
)


def count_size(tokenizer: Tokenizer, size: Sequence[int]) -> int:
    """The tokens of a text, estimated from its size: (tokens of o200k_base, characters)."""
    tokens, characters = size
    if tokenizer.name == "chars4":
        return -(-characters // 4)
    return tokens * (tokenizer.factor or CLAUDE_FACTOR)


def find_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name. Raises UsageError for an unknown one."""
    if name not in TOKENIZERS:
        from capdisc_indexer.text.similar_names import unknown_choice

        raise unknown_choice("tokenizer", name, TOKENIZERS)
    return TOKENIZERS[name]()
