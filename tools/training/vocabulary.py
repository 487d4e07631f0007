"""The table's vocabulary: the teacher's words, the field's own words, and the commonest pieces of other languages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordPieceTrainer

from capdisc_indexer.encoders.word_pieces import (
    CONTINUATION,
    LONGEST_PIECE,
    WordPieceTokenizer,
    split_words,
)

MAX_PIECES = 128
UNSPACED = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
# Latin, Greek, Cyrillic, Hebrew, Arabic and Persian, Devanagari, kana.
SPANS = "61-7a df-17f 3b1-3c9 430-45f 490-4fe 5d0-5ea 621-64a 66e-6d3 904-93f 3041-30fe"
LETTERS = [
    range(int(first, 16), int(last, 16) + 1)
    for first, last in (span.split("-") for span in SPANS.split())
]
OWN_WORDS, OWN_COUNT = 8_000, 20
"""At most so many new English words, each seen so often."""
MEANINGFUL = 5
"""A continuation of so many letters means what the word means, and the cutter finds the word in its place."""
SPARE = 1.3

Encoded = tuple[NDArray[np.int32], NDArray[np.int64]]


def build_vocabulary(
    teacher_file: Path, english: Sequence[str], foreign: Mapping[str, Counter[str]], size: int
) -> list[str]:
    """At most `size` pieces, sorted by their bytes: English first, the rest of the room for the other languages.

    `foreign` has the word counts of each other language, already balanced.
    """
    known = json.loads(teacher_file.read_text(encoding="utf-8"))["model"]["vocab"]
    kept = {entry for entry in known if _can_occur(entry)}
    own = own_words(english, kept)
    letters = {
        chr(c)
        for span in LETTERS
        for c in span
        if split_words(chr(c)) == [chr(c)] and chr(c).lower() == chr(c)
    }
    pieces = (
        kept
        | set(own)
        | letters
        | {CONTINUATION + letter for letter in letters if not UNSPACED.match(letter)}
    )
    room = max(size - len(pieces), 0) if foreign else 0
    candidates = [p for p in _learned(foreign, int(room * SPARE)) if p not in pieces]
    chosen = _most_used(pieces, candidates, foreign, room)
    print(
        f"vocabulary: {len(kept):,} of the teacher's, {len(own):,} own English, {len(chosen):,} of others",
        flush=True,
    )
    return sorted(pieces | set(chosen), key=str.encode)


def own_words(texts: Iterable[str], known: set[str]) -> list[str]:
    """Plain words, and compounds such as `github`, that the known entries would cut; the commonest first."""
    words: Counter[str] = Counter()
    for text in texts:
        words.update(word.lower() for word in split_words(text))
    fits = (
        w
        for w, n in words.most_common()
        if n >= OWN_COUNT and w.isascii() and w.isalpha() and w not in known
    )
    return [word for word in fits if 2 < len(word) <= LONGEST_PIECE][:OWN_WORDS]


def lookup_of(pieces: Sequence[str]) -> Mapping[str, int]:
    """Each piece's id, its place in the order."""
    return {piece: number for number, piece in enumerate(pieces)}


def encode(pieces: Sequence[str], texts: Sequence[str], threads: int = 2) -> Encoded:
    """The ids of all texts in one row, and where each text starts (one more entry at the end)."""
    chunks = [(pieces, texts[first : first + 100_000]) for first in range(0, len(texts), 100_000)]
    with ProcessPoolExecutor(threads) as pool:
        parts = list(pool.map(_encode_chunk, chunks))
    lengths = np.concatenate([lengths for _, lengths in parts])
    return np.concatenate([ids for ids, _ in parts]), np.concatenate(
        [[0], np.cumsum(lengths)]
    ).astype(np.int64)


def spelling(piece: str) -> str:
    """The piece as text for the teacher: without the mark of a continuation."""
    return piece.removeprefix(CONTINUATION)


def whole_words(pieces: Iterable[str]) -> list[str]:
    """The pieces that are plain words of three letters or more, sorted."""
    return sorted(e for e in pieces if len(e) > 2 and e.isascii() and e.isalpha())


def _encode_chunk(
    chunk: tuple[Sequence[str], Sequence[str]],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    cutter = WordPieceTokenizer(lookup_of(chunk[0]).get)
    found = [cutter.ids(text)[:MAX_PIECES] for text in chunk[1]]
    return np.fromiter((i for ids in found for i in ids), dtype=np.int32), np.fromiter(
        map(len, found), dtype=np.int64
    )


def _can_occur(entry: str) -> bool:
    """False for markers, and for what the cutter never asks for: signs, accents, continuations between Han.

    >>> [_can_occur(e) for e in ("[UNK]", "[unused7]", "potato", "##ing", "天", "##天", "!")]
    [False, False, True, True, True, False, False]
    """
    bare = spelling(entry)
    if entry.startswith(CONTINUATION) and UNSPACED.match(bare):
        return False
    return split_words(bare) == [bare] and bare.lower() == bare and len(bare) <= LONGEST_PIECE


def _learned(foreign: Mapping[str, Counter[str]], size: int) -> list[str]:
    """Pieces by the usual merging of the commonest neighbours, the earliest merged first."""
    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    trainer = WordPieceTrainer(
        vocab_size=size, min_frequency=4, limit_alphabet=6_000, show_progress=False
    )
    lines = (
        f"{word} " * count
        for counts in foreign.values()
        for word, count in counts.items()
        if count
    )
    tokenizer.train_from_iterator(lines, trainer)
    vocabulary = tokenizer.get_vocab()
    return list(
        dict.fromkeys(_free(piece) for piece in sorted(vocabulary, key=vocabulary.__getitem__))
    )


def _free(piece: str) -> str:
    """Without the mark where the piece means the same inside a word as at its start."""
    bare = spelling(piece)
    return bare if UNSPACED.match(bare) or len(bare) >= MEANINGFUL else piece


def _most_used(
    pieces: set[str], candidates: Sequence[str], foreign: Mapping[str, Counter[str]], room: int
) -> list[str]:
    """The candidates that the cutter uses most; single characters before all."""
    every = [*pieces, *candidates]
    cutter, uses = WordPieceTokenizer(lookup_of(every).get), np.zeros(len(every))
    for counts in foreign.values():
        for word, count in counts.items():
            uses[cutter.ids(word)] += count
    uses[[number for number, piece in enumerate(every) if len(spelling(piece)) == 1]] += uses.max()
    order = len(pieces) + np.argsort(-uses[len(pieces) :], kind="stable")
    return [every[number] for number in order[:room] if uses[number] > 1]
