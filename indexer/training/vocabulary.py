"""The student's vocabulary: the teacher's WordPiece entries and whole words of the field that it cuts into pieces."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import BertPreTokenizer

UNKNOWN = "[UNK]"
MAX_TOKENS = 128


def build_tokenizer(teacher_file: Path, texts: Sequence[str], size: int) -> Tokenizer:
    """A tokenizer of at most `size` entries: the teacher's useful ones, then the commonest words that it splits."""
    document = json.loads(teacher_file.read_text(encoding="utf-8"))
    original = _bare(document, list(document["model"]["vocab"]))
    entries = [entry for entry in document["model"]["vocab"] if _is_kept(entry)]
    missing = _split_words(original, texts)[: size - len(entries)]
    print(f"vocabulary: {len(entries):,} of the teacher's entries and {len(missing):,} new words", flush=True)
    return _bare(document, entries + missing)


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> NDArray[np.int64]:
    """How often each entry occurs in the texts, `(vocabulary,)`."""
    ids, _ = encode(tokenizer, texts)
    return np.bincount(ids, minlength=tokenizer.get_vocab_size()).astype(np.int64)


def encode(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Token ids of all texts in one row, and where each text starts (one more entry at the end)."""
    rows, lengths = [], []
    for first in range(0, len(texts), 50_000):
        found = [e.ids[:MAX_TOKENS] for e in tokenizer.encode_batch_fast(list(texts[first : first + 50_000]))]
        lengths += map(len, found)
        rows.append(np.fromiter((i for ids in found for i in ids), dtype=np.int32))
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spelling(entry: str) -> str:
    """The entry as text for the teacher: a continuation piece without its marks."""
    return entry.removeprefix("##")


def whole_words(tokenizer: Tokenizer) -> list[str]:
    """The entries that are plain words of three letters or more, sorted."""
    return sorted(e for e in tokenizer.get_vocab() if len(e) > 2 and e.isascii() and e.isalpha())


def _bare(document: dict, entries: list[str]) -> Tokenizer:
    """The teacher's tokenizer with other entries; adds no special token, pads nothing and truncates nothing."""
    model = document["model"] | {"vocab": {entry: i for i, entry in enumerate(entries)}}
    bare = document | {"model": model, "truncation": None, "padding": None, "post_processor": None, "added_tokens": []}
    return Tokenizer.from_str(json.dumps(bare))


def _is_kept(entry: str) -> bool:
    """False for markers, and for continuations in scripts that are split into single characters anyway.

    >>> [_is_kept(e) for e in ("[UNK]", "[unused7]", "potato", "##ing", "\u5929", "##\u5929")]
    [True, False, True, True, True, False]
    """
    if entry.startswith("["):
        return entry in (UNKNOWN, "[")
    return entry.isascii() or not entry.startswith("##")


def _split_words(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Plain words that the tokenizer cuts into pieces, the commonest first."""
    splitter = BertPreTokenizer()
    words = Counter(w for t in texts for w, _ in splitter.pre_tokenize_str(t.lower()))
    return [
        word
        for word, count in words.most_common(60_000)
        if count >= 20 and word.isascii() and word.isalpha() and len(word) > 2 and len(tokenizer.encode(word).ids) > 1
    ]
