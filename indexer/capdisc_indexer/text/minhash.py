"""How similar two texts are, estimated from a signature of 64 bytes each; it shows near duplicates
among the hits.

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
# Numbers that stand alone ("copy 7") are not words; those in names (MP3, SHA256, C++) are part of
# them.
_WORD = re.compile(r"[^\W\d_][\w+#]*")
# Two texts that fill fewer bins are duplicates only if they are equal: short texts that differ in
# one word may differ in meaning ("turns on a light", "turns off a light").
_MIN_FILLED_BINS = 24
MIN_SIMILARITY = 0.75


def signature(text: str) -> str:
    """The signature as 128 hexadecimal digits, without lone numbers and punctuation; "" for fewer
    than two words.
    """
    words = _WORD.findall(text.lower())
    bins = [_EMPTY_BIN] * BINS
    pair_hashes = {
        crc32(f"{left} {right}".encode("utf-8", "replace")) for left, right in pairwise(words)
    }
    for value in pair_hashes:
        bin_index, bin_value = value % BINS, (value >> 8) % _EMPTY_BIN
        if bin_value < bins[bin_index]:  # noqa: PLR1730, a call of min takes twice as long
            bins[bin_index] = bin_value
    return array("H", bins).tobytes().hex() if any(value != _EMPTY_BIN for value in bins) else ""


def are_near_duplicates(left: array[int], right: array[int]) -> bool:
    """Whether two texts, by their decoded signatures, are versions of one text."""
    filled_bins = BINS - min(left.count(_EMPTY_BIN), right.count(_EMPTY_BIN))
    if filled_bins < _MIN_FILLED_BINS:
        return left == right
    equal_bins: int = sum(map(eq, left, right))
    both_empty = BINS - filled_bins
    return equal_bins - both_empty >= filled_bins * MIN_SIMILARITY


def shared_part(left: array[int], right: array[int]) -> float:
    """The estimated share of word pairs that two texts have in common, 0..1, from their decoded
    signatures; its standard error is 0.09 for long texts.
    """
    filled_bins = equal_bins = 0
    for left_value, right_value in zip(left, right, strict=True):
        filled_bins += left_value != _EMPTY_BIN or right_value != _EMPTY_BIN
        equal_bins += left_value == right_value != _EMPTY_BIN
    return equal_bins / filled_bins if filled_bins else 0.0


def decode_signature(digits: str) -> array[int]:
    """The bins of a signature."""
    return array("H", bytes.fromhex(digits))
