"""Exact token counts, remembered for pieces that were counted before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from capdisc_indexer import lazy_imports
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import frozen

DEFAULT_TOKENIZER = "o200k_base"
# Lines of so many characters are remembered, so many of them: 10 MB.
_MAX_CACHED_CHARACTERS, _CACHE_SIZE = 64, 50_000

# A new chunk may start where the tokenizer certainly splits: after a line end, unless the next
# line is blank or starts with a slash (o200k and cl100k glue line ends to following line ends, and
# ".\n/" together).
_CHUNK = re.compile(r"[^\n]*(?:\n|\Z)(?:(?:[^\S\n]*(?:\n|\Z))|/[^\n]*(?:\n|\Z))*")


@frozen(kw_only=True)
class Tokenizer:
    """Whose tokens are counted. `factor` makes tokens of the counts that an index keeps (0: they
    say nothing about it), `additive` says that the counts of pieces are that of the whole, `about`
    is for whoever chose an estimate.
    """

    name: str
    load: Callable[[], Callable[[str], int]]
    factor: int = 1
    additive: bool = True
    about: str = ""


class TokenCounter:
    """Counts tokens; texts whose count is known need no tokenizer, so a render of stored pieces
    loads none.
    """

    def __init__(
        self,
        load: Callable[[], Callable[[str], int]],
        name: str = DEFAULT_TOKENIZER,
        *,
        factor: int = 1,
        additive: bool = True,
    ) -> None:
        self.name, self.additive = name, additive
        self._load, self._factor = load, factor
        self._exact: Callable[[str], int] | None = None
        self._counts: dict[str, int] = {"": 0}
        self._line_counts = _LineCounts(self.exact)

    def learn(self, counts: Mapping[str, int]) -> None:
        """Take over counts of o200k_base tokens that were made earlier, where they say something
        here.
        """
        if self._factor == 1:
            self._counts.update(counts)
        elif self._factor:
            self._counts.update({text: self._factor * count for text, count in counts.items()})

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        count = self._counts.get(text)
        if count is None:
            count = self._counts[text] = self.exact(text)
        return count

    def count_lines(self, lines: Iterable[str]) -> list[int]:
        """The number of tokens of each line, remembering no more than the short ones of a few
        thousand texts.
        """
        return list(map(self._line_counts.__getitem__, lines))

    def exact(self, text: str) -> int:
        """The number of tokens by the tokenizer itself, whatever is remembered."""
        if self._exact is None:
            self._exact = self._load()
        return self._exact(text)


class _LineCounts(dict[str, int]):
    """Counts of short lines. Of those in 1,717 different skills a third had stood in another one
    before.
    """

    def __init__(self, exact: Callable[[str], int]) -> None:
        self._exact = exact

    def __missing__(self, line: str) -> int:
        count = self._exact(line)
        if len(line) <= _MAX_CACHED_CHARACTERS:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[line] = count
        return count


def make_counter(tokenizer: Tokenizer) -> TokenCounter:
    """A counter of this tokenizer's tokens."""
    return TokenCounter(
        tokenizer.load, tokenizer.name, factor=tokenizer.factor, additive=tokenizer.additive
    )


def split_chunks(text: str) -> list[str]:
    """The text cut at line ends into pieces whose token counts add up exactly to the count of the
    whole.

    >>> split_chunks("a\\n\\nb\\n")
    ['a\\n\\n', 'b\\n']
    """
    return [piece for piece in _CHUNK.findall(text) if piece]


# Whose tokens can be counted: those of OpenAI's models exactly, Claude's as well as one can
# offline, or characters.

# Over 150 real SKILL.md files, a reconstruction of the newest Claude tokenizer counted 1.67 times
# the tokens of o200k_base (1.90 at most); of the one before, 1.17 times (1.43). Text in capitals
# and Thai can have more.
CLAUDE_FACTOR = 2


def _o200k() -> Tokenizer:
    return Tokenizer(name=DEFAULT_TOKENIZER, load=lazy_imports.load_token_counter)


def _claude() -> Tokenizer:
    if count_tokens := lazy_imports.load_claude_counter():
        return Tokenizer(name="claude (ctok)", load=lambda: count_tokens, factor=0, additive=False)
    about = f"Claude's tokens are estimated as {CLAUDE_FACTOR} × {DEFAULT_TOKENIZER}; pip install 'capdisc[claude]' counts them"
    return Tokenizer(
        name=f"claude (estimate: {CLAUDE_FACTOR} × {DEFAULT_TOKENIZER})",
        load=lambda: _multiply_counts(lazy_imports.load_token_counter(), CLAUDE_FACTOR),
        factor=CLAUDE_FACTOR,
        about=about,
    )


def _multiply_counts(count: Callable[[str], int], factor: int) -> Callable[[str], int]:
    return lambda text: factor * count(text)


def _chars4() -> Tokenizer:
    about = "four characters are taken for one token, which is too few tokens for most models and languages"
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
    """The tokens of a text that has so many tokens of o200k_base and so many characters, as well
    as that tells them.
    """
    tokens, characters = size
    if tokenizer.name == "chars4":
        return -(-characters // 4)
    return tokens * (tokenizer.factor or CLAUDE_FACTOR)


def find_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of this name. Raises UsageError where there is none."""
    if name not in TOKENIZERS:
        raise UsageError(f"unknown tokenizer {name!r}", f"one of: {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]()
