"""How many o200k_base tokens has a short text? Answered from a mapped file of the vocabulary.

The libraries that count tokens build tables of the whole vocabulary when they are loaded: 65 ms of
processor time, five times a bare interpreter, for a context of a thousand words. The file next to
this module is ready to be searched. It takes 8 ms for such a context, and counts a megabyte a
second, so that a process which counts more loads the library after all.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, pairwise

from capdisc_indexer import lazy_imports

# How a text is cut into words that are tokenized one by one: the expression of o200k_base, over
# letters that stand for classes of characters (see `_CharacterClasses`). White space is spelled
# out, since that of Python has four characters more.
_SPACE, _LETTER = r" \t\n\x0b\x0c\r", r"A-Za-z\x01"
_HEAD, _TAIL = rf"[^\r\n{_LETTER}0-9]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_WORD = (
    rf"{_HEAD}[A-Z\x01\x02]*[a-z\x01\x02]+{_TAIL}|{_HEAD}[A-Z\x01\x02]+[a-z\x01\x02]*{_TAIL}"
    rf"|[0-9]{{1,3}}| ?[^{_SPACE}{_LETTER}0-9]+[\r\n/]*"
    rf"|[{_SPACE}]*[\r\n]+|[{_SPACE}]+(?![^{_SPACE}])|[{_SPACE}]+"
)
_CLASSES = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": "\x01", "Lo": "\x01", "M": "\x02", "N": "0"}
_WHITE_SPACE = "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"  # fmt: skip

# An entry has the first 46 bits of the token's hash, and in the other 18 its rank. Among 2^46
# hashes, one text in 350 million is taken for one of the 199,998 tokens.
_RANK_BITS = 18
_NO_RANK = 1 << _RANK_BITS
# Merging takes time by the square of a word's length. Words are longer in lines of signs alone.
_MAX_WORD_BYTES = 256
# After this many different words, or characters of known words, counting took about as long
# as loading the library does. Then it is loaded.
_MAX_WORDS, _MAX_CHARACTERS = 10_000, 1_000_000

VOCABULARY = os.path.join(os.path.dirname(__file__), "o200k.bin")  # noqa: PTH118, PTH120  pathlib would cost more than this module


class _UncountableError(Exception):
    """Only the library can count this text."""


def load_counter() -> Callable[[str], int]:
    """A function that counts the o200k_base tokens of a text exactly."""
    return O200kCounter().count


class O200kCounter:
    """Counts tokens by the mapped vocabulary, and by the library what that is not good for."""

    def __init__(self, path: str = VOCABULARY) -> None:
        self._path, self._characters = path, 0
        self._words: _WordCounts | None = None
        self._classes = _CharacterClasses()
        self._count_by_library: Callable[[str], int] | None = None

    def count(self, text: str) -> int:
        """The number of tokens of the text."""
        self._characters += len(text)
        if self._count_by_library is None:
            try:
                return self._count_by_file(text)
            except _UncountableError:
                self._count_by_library = lazy_imports.load_token_counter()
        return self._count_by_library(text)

    def _count_by_file(self, text: str) -> int:
        if self._words is None:
            self._words = _WordCounts(_Ranks(self._path))
        if self._characters > _MAX_CHARACTERS or len(self._words) > _MAX_WORDS:
            raise _UncountableError
        split = re.compile(_WORD).findall
        if text.isascii() and "\x01" not in text and "\x02" not in text:
            words = split(text)
        else:
            ends = accumulate(map(len, split(text.translate(self._classes))), initial=0)
            words = [text[start:end] for start, end in pairwise(ends)]
        return sum(map(self._words.__getitem__, words))


class _CharacterClasses(dict[int, str]):
    """By character, the ASCII character that stands for its class in `_WORD`."""

    def __missing__(self, code: int) -> str:
        sign = self[code] = chr(code) if code in range(3, 128) else _find_class(chr(code))
        return sign


def _find_class(character: str) -> str:
    from unicodedata import category

    if character in _WHITE_SPACE:
        return "\t"
    if character == "ſ":  # which is an s where capitals and small letters are the same
        return "s"
    kind = category(character)
    if kind in {"Cn", "Cs"}:  # a newer Unicode may know it; a half of a pair has no bytes
        raise _UncountableError
    return _CLASSES.get(kind) or _CLASSES.get(kind[0], "#")


@lru_cache(maxsize=1)
def _map_vocabulary(path: str) -> memoryview:
    """The entries of the vocabulary. All counters of a process share them: a server that maps them
    for each context had 700 descriptors open until Python looked for cycles.
    """
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  as above
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("Q")


class _Ranks(dict[bytes, int]):
    """The rank of each token in the mapped file; `_NO_RANK` for bytes that are not a token."""

    def __init__(self, path: str) -> None:
        if sys.byteorder != "little":
            raise _UncountableError
        self._hash = lazy_imports.blake2b()
        try:
            self._entries = _map_vocabulary(path)
        except (OSError, ValueError) as error:  # not installed with the package, or cut off
            raise _UncountableError from error

    def __missing__(self, token: bytes) -> int:
        digest = self._hash(token, digest_size=8).digest()
        first = int.from_bytes(digest, "little") >> _RANK_BITS << _RANK_BITS
        entries = self._entries
        place = bisect_left(entries, first)
        rank = _NO_RANK
        if place < len(entries) and entries[place] - first < _NO_RANK:
            rank = entries[place] - first
        self[token] = rank
        return rank


class _WordCounts(dict[str, int]):
    """The number of tokens of each word."""

    def __init__(self, ranks: _Ranks) -> None:
        self._ranks = ranks

    def __missing__(self, word: str) -> int:
        try:
            token = word.encode()
        except UnicodeEncodeError as error:
            raise _UncountableError from error
        count = self[word] = 1 if self._ranks[token] < _NO_RANK else self._merge(token)
        return count

    def _merge(self, word: bytes) -> int:
        """The number of tokens after byte-pair encoding: of all neighbours, those whose union has
        the lowest rank are merged first.
        """
        if len(word) > _MAX_WORD_BYTES:
            raise _UncountableError
        ranks = self._ranks
        parts = [word[i : i + 1] for i in range(len(word))]
        unions = [ranks[word[i : i + 2]] for i in range(len(word) - 1)]
        while unions and (lowest := min(unions)) < _NO_RANK:
            place = unions.index(lowest)
            parts[place] += parts.pop(place + 1)
            del unions[place]
            if place:
                unions[place - 1] = ranks[parts[place - 1] + parts[place]]
            if place < len(unions):
                unions[place] = ranks[parts[place] + parts[place + 1]]
        return len(parts)
