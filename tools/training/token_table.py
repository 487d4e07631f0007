"""Writes the vocabulary of o200k_base as the file that `capdisc_indexer/text/o200k.py` maps.

The vocabulary is OpenAI's, published with tiktoken under the MIT licence; rs-bpe carries it. An
entry is the first 46 bits of the BLAKE2b hash of a token's bytes and its rank in 18 bits, as one
little-endian number; entries are sorted, so that a bisection finds them.

python tools/training/token_table.py indexer/capdisc_indexer/text/o200k.bin
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from rs_bpe.bpe import openai

TOKENS = 199_998
_RANK_BITS = 18


def list_tokens() -> Iterable[bytes]:
    """The bytes of all tokens in the order of their ranks, special tokens left out."""
    vocabulary = openai.o200k_base().bpe()
    return (bytes(vocabulary.decode_tokens([rank])) for rank in range(TOKENS))


def encode_entries(tokens: Iterable[bytes]) -> bytes:
    """The content of the file. Raises ValueError where two tokens have the same first bits."""
    entries = sorted(
        int.from_bytes(blake2b(token, digest_size=8).digest(), "little")
        >> _RANK_BITS
        << _RANK_BITS
        | rank
        for rank, token in enumerate(tokens)
    )
    if len({entry >> _RANK_BITS for entry in entries}) != len(entries):
        raise ValueError("two tokens have the same first bits: take more of them")
    return b"".join(entry.to_bytes(8, "little") for entry in entries)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(encode_entries(list_tokens()))
