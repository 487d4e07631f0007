"""Exact token counts, remembered for pieces that were counted before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from capdisc_indexer.frozen import frozen

TOKENIZER = "o200k_base"
# Lines of so many characters are remembered, so many of them: 10 MB.
_SHORT, _REMEMBERED = 64, 50_000

# A new chunk may start where the tokenizer certainly splits: after a line end, unless the next line is blank or starts
# with a slash (o200k and cl100k glue line ends to following line ends, and ".\n/" together).
_CHUNK = re.compile(r"[^\n]*(?:\n|\Z)(?:(?:[^\S\n]*(?:\n|\Z))|/[^\n]*(?:\n|\Z))*")


@frozen(kw_only=True)
class Tokenizer:
    """Whose tokens are counted. `factor` makes tokens of the counts that an index keeps (0: they say nothing about
    it), `additive` says that the counts of pieces are that of the whole, `about` is for whoever chose an estimate."""

    name: str
    load: Callable[[], Callable[[str], int]]
    factor: int = 1
    additive: bool = True
    about: str = ""


class TokenCounter:
    """Counts tokens; texts whose count is known need no tokenizer, so a render of stored pieces loads none."""

    def __init__(
        self,
        load: Callable[[], Callable[[str], int]],
        name: str = TOKENIZER,
        *,
        factor: int = 1,
        additive: bool = True,
    ) -> None:
        self.name, self.additive = name, additive
        self._load, self._factor = load, factor
        self._exact: Callable[[str], int] | None = None
        self._known: dict[str, int] = {"": 0}
        self._lines = _Lines(self.exact)

    def learn(self, counts: Mapping[str, int]) -> None:
        """Take over counts of o200k_base tokens that were made earlier, where they say something here."""
        if self._factor == 1:
            self._known.update(counts)
        elif self._factor:
            self._known.update({text: self._factor * count for text, count in counts.items()})

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self.exact(text)
        return known

    def of_lines(self, lines: Iterable[str]) -> list[int]:
        """The number of tokens of each line, remembering no more than the short ones of a few thousand texts."""
        return list(map(self._lines.__getitem__, lines))

    def exact(self, text: str) -> int:
        """The number of tokens by the tokenizer itself, whatever is remembered."""
        if self._exact is None:
            self._exact = self._load()
        return self._exact(text)


class _Lines(dict[str, int]):
    """Counts of short lines. Of those in 1,717 different skills a third had stood in another one before."""

    def __init__(self, exact: Callable[[str], int]) -> None:
        self._exact = exact

    def __missing__(self, line: str) -> int:
        count = self._exact(line)
        if len(line) <= _SHORT:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[line] = count
        return count


def counter_of(tokenizer: Tokenizer) -> TokenCounter:
    """A counter of this tokenizer's tokens."""
    return TokenCounter(tokenizer.load, tokenizer.name, factor=tokenizer.factor, additive=tokenizer.additive)


def chunks(text: str) -> list[str]:
    """The text cut at line ends into pieces whose token counts add up exactly to the count of the whole.

    >>> chunks("a\\n\\nb\\n")
    ['a\\n\\n', 'b\\n']
    """
    return [piece for piece in _CHUNK.findall(text) if piece]
