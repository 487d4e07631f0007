"""How alike two texts are, from a signature of 64 bytes each: near copies of one capability are
one answer.

One-permutation min-hash (Li, Owen and Zhang 2012) over pairs of neighbouring words: each pair
falls into one of 32 bins by its hash, each bin keeps its smallest hash. The share of equal bins
estimates the share of pairs in common.
"""

from __future__ import annotations

import re
from array import array
from itertools import pairwise
from operator import eq
from zlib import crc32

BINS = 32
_EMPTY_BIN = 0xFFFF
# Numbers that stand alone ("copy 7") are no words; those in names of things (MP3, SHA256, C++) are
# part of them.
_WORD = re.compile(r"[^\W\d_][\w+#]*")
# Two texts that fill fewer bins are copies only when they are equal: short ones differ by one word
# when they differ at all ("turns on a light", "turns off a light").
_MIN_FILLED_BINS = 24
MIN_SIMILARITY = 0.75


def signature(text: str) -> str:
    """128 hex digits for a text, lone numbers and punctuation left out; empty for fewer than two
    words.
    """
    words = _WORD.findall(text.lower())
    bins = [_EMPTY_BIN] * BINS
    for value in {
        crc32(f"{left} {right}".encode("utf-8", "replace")) for left, right in pairwise(words)
    }:
        bin_index, bin_value = value % BINS, (value >> 8) % _EMPTY_BIN
        if bin_value < bins[bin_index]:  # noqa: PLR1730, a call of min takes twice as long
            bins[bin_index] = bin_value
    return array("H", bins).tobytes().hex() if any(value != _EMPTY_BIN for value in bins) else ""


def are_near_duplicates(left: array[int], right: array[int]) -> bool:
    """True when the texts behind two opened signatures differ by no more than versions of one text
    do.
    """
    filled_bins = BINS - min(left.count(_EMPTY_BIN), right.count(_EMPTY_BIN))
    if filled_bins < _MIN_FILLED_BINS:
        return left == right
    equal: int = sum(map(eq, left, right))
    return equal - (BINS - filled_bins) >= filled_bins * MIN_SIMILARITY


def shared_part(one: array[int], two: array[int]) -> float:
    """The estimated share of pairs that the texts behind two opened signatures have in common,
    0..1; its standard error is 0.09 for long texts.
    """
    filled = sum(
        first != _EMPTY_BIN or second != _EMPTY_BIN for first, second in zip(one, two, strict=True)
    )
    same = sum(first == second != _EMPTY_BIN for first, second in zip(one, two, strict=True))
    return same / filled if filled else 0.0


def decode_signature(digits: str) -> array[int]:
    """The bins of a signature."""
    return array("H", bytes.fromhex(digits))
