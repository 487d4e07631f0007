"""Parallel text read back: which pairs are learned, how often, and which are held out."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from capdisc_indexer.encoders.word_pieces import split_words

FIRST = frozenset("de fr es it pt nl pl cs ru uk zh ja".split())
"""The languages that get twice the room and the attention."""
DICTIONARIES = ("dict-", "trans-", "edict", "cldr", "everyday")
TECHNICAL = re.compile(
    r"^(?:vim|coreutils|util-linux|weechat|network-manager|git|systemd|libc|gdb|dpkg|apt|wget|gawk|bison|parted|freeciv"
    r"|e2fsprogs|lvm2|rsync|cryptsetup|kstars|gramps|iso-codes|xkb|wireshark|subversion|mercurial|poedit|emacs)"
)
SPECIAL = re.compile(
    r"^(?:inkscape|gimp|krita|digikam|darktable|dia-common|kmymoney|gnumeric|ardour)"
)
SHARES = ((re.compile("|".join(DICTIONARIES)), 1.7), (TECHNICAL, 0.2), (SPECIAL, 0.35))
"""How often a source's pairs are drawn where another's are drawn once: talk of programs about themselves seldom."""
ROOM, ROOM_OF_FIRST = 150_000, 400_000
"""Words of a language that vote on the vocabulary."""
EXTRA_VOTES, EXTRA_VOTES_OF_FIRST, VOTES_OF_EVERYDAY = 7, 14, 60
"""Votes of a word that a dictionary has for a common English one, and of one that an everyday command has."""


class Pair(NamedTuple):
    """A text in another language and its English partner."""

    language: str
    english: str
    text: str
    source: str


def read_pairs(paths: Iterable[Path]) -> list[Pair]:
    """Every row of the gathered files."""
    rows = (
        line.rstrip("\n").split("\t") for path in paths for line in path.open(encoding="utf-8")
    )
    return [Pair(*row) for row in rows if len(row) == 4]


def is_held_out(english: str) -> bool:
    """True for about one English sentence in a hundred, the same in every language and every run."""
    return (
        len(english) > 15
        and english.count(" ") >= 2
        and zlib.crc32(english.casefold().encode()) % 100 == 0
    )


def draw(pairs: Sequence[Pair], count: int, rng: np.random.Generator) -> list[Pair]:
    """`count` of the pairs that are not held out: languages by the root of their size, sources by their share."""
    sizes = Counter(pair.language for pair in pairs)
    of_language = {name: _first(name, 2, 1) / size**0.5 for name, size in sizes.items()}
    of_source = {source: share(source) for source in {pair.source for pair in pairs}}
    weights = np.array([of_language[pair.language] * of_source[pair.source] for pair in pairs])
    keys = rng.exponential(size=len(weights)) / weights
    chosen = rng.permutation(np.argsort(keys)[:count])
    return [pair for pair in (pairs[number] for number in chosen) if not is_held_out(pair.english)]


def share(source: str) -> float:
    """How often a pair of this source is drawn, against 1 for most."""
    return next((value for pattern, value in SHARES if pattern.match(source)), 1.0)


def balanced_words(pairs: Iterable[Pair], common: set[str]) -> Mapping[str, Counter[str]]:
    """Word counts of each language, scaled to the same total, and extra votes for words of everyday."""
    counts: dict[str, Counter[str]] = {}
    votes: dict[str, Counter[str]] = {}
    for pair in pairs:
        words = [word.lower() for word in split_words(pair.text)]
        for word in words:
            counts.setdefault(pair.language, Counter())[word] += (
                1 if TECHNICAL.match(pair.source) else 4
            )
        _vote(votes.setdefault(pair.language, Counter()), pair, words, common)
    return {
        name: _scaled(found, _first(name, ROOM_OF_FIRST, ROOM)) | votes[name]
        for name, found in counts.items()
    }


def _vote(votes: Counter[str], pair: Pair, words: list[str], common: set[str]) -> None:
    if pair.source == "everyday":
        votes.update(dict.fromkeys(words, VOTES_OF_EVERYDAY))
    elif (
        len(words) == 1 and pair.source.startswith(DICTIONARIES) and pair.english.lower() in common
    ):
        votes[words[0]] = _first(pair.language, EXTRA_VOTES_OF_FIRST, EXTRA_VOTES)


def _first(language: str, yes: int, no: int) -> int:
    return yes if language in FIRST else no


def _scaled(counts: Counter[str], total: int) -> Counter[str]:
    factor = total / sum(counts.values())
    return Counter({word: int(count * factor + 0.5) for word, count in counts.items()})
