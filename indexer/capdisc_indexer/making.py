"""All that is made of one changed capability, in one pass and in any process: document, texts to encode, its card."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.documents import bagger, make_document
from capdisc_indexer.embedding_text import embedding_texts
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.frozen import frozen, replace
from capdisc_indexer.records import from_bytes
from capdisc_indexer.render.counting import size_of, stored_counts
from capdisc_indexer.store.writer import Document
from capdisc_indexer.tokens import TokenCounter

# For so many changed capabilities the encoder's vocabulary is not loaded.
FEW = 50

# The id that the index calls it by, and its record.
Job = tuple[str, bytes]


@frozen(kw_only=True)
class Made:
    """What the stores are given of a capability; `texts` become vectors, `card` is what an overview shows of it."""

    document: Document
    texts: tuple[str, ...]
    card: Mapping[str, Any]


class Maker:
    """What it takes to make them: a tokenizer, and the shipped encoder's pieces (`pieces` is its fingerprint)."""

    def __init__(self, count: int, checked: Encoder | None = None) -> None:
        self.counter = TokenCounter(engines.token_count)
        self._bagged, self.pieces = bagger(few=count <= FEW, checked=checked)

    def make(self, job: Job) -> Made:
        """What is made of a record."""
        key, record = job
        d = from_bytes(record)
        d = d if d.id == key else replace(d, id=key)
        counts = stored_counts(d, self.counter)
        return Made(
            document=make_document(d, counts, self._bagged),
            texts=embedding_texts(d),
            card={"kind": d.kind, "name": d.name, "category": d.category, "hidden": d.hidden, "size": size_of(counts)},
        )


def make_elsewhere(job: Job) -> Made:
    """The same in a process that does nothing else."""
    return _maker().make(job)


@cache
def _maker() -> Maker:
    return Maker(FEW + 1)
