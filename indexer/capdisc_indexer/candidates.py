"""The first look: the best documents by words, and the nearest by vectors, both past the query's filters."""

from __future__ import annotations

import time
from typing import Any

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.frozen import frozen
from capdisc_indexer.index import Index
from capdisc_indexer.ranking import coverage, information
from capdisc_indexer.spelling import worded
from capdisc_indexer.store import matching
from capdisc_indexer.types import Query

# Enough that the order among them, not their choice, is what is left to improve.
COUNT = 100


@frozen(kw_only=True)
class Candidates:
    """BM25 scores and cosines by id, the heads of all of them, and what each searched term says (its IDF); the vectors
    took `vectors_s`."""

    information: dict[str, float]
    known: float
    lexical: dict[str, float]
    vector: dict[str, float]
    heads: dict[str, dict[str, Any]]
    vectors_s: float = 0.0


def candidates(index: Index, text: str, query: Query, encoder: Encoder | None, mode: str) -> Candidates:
    """The candidates for one text."""
    wording = worded(index.documents, text)
    terms = wording.terms
    frequency = {term: index.documents.frequency(term) for term in terms}
    said = {term: information(count, len(index.documents)) for term, count in frequency.items()}
    found = index.documents.search(terms, query, COUNT) if mode != "vector" or encoder is None else []
    lexical = {head["id"]: score for score, head in found}
    heads = {head["id"]: head for _, head in found}
    started = time.perf_counter()
    vector = _nearest(index, wording.text, query, encoder) if encoder else {}
    vectors_s = time.perf_counter() - started
    heads |= index.documents.passing([key for key in vector if key not in heads], query)
    # Skills that their author hides from the model are indexed and can be shown, but are never offered.
    heads = {key: head for key, head in heads.items() if not head.get("hidden")}
    return Candidates(
        information=said,
        known=coverage(said, frozenset(term for term in terms if frequency[term])),
        lexical={key: score for key, score in lexical.items() if key in heads},
        heads=heads,
        vector={key: cosine for key, cosine in vector.items() if key in heads},
        vectors_s=vectors_s,
    )


def _nearest(index: Index, text: str, query: Query, encoder: Encoder) -> dict[str, float]:
    """Cosines of the nearest capabilities that pass the filters; looks further while filters leave too few."""
    if index.matrix is None:
        return {}
    vector, wanted = encoder.encode_query(text), COUNT
    while True:
        nearest = index.matrix.nearest(vector, wanted)
        passing = index.documents.passing([key for key, _ in nearest], query) if matching.filters(query) else None
        kept = {key: cosine for key, cosine in nearest if passing is None or key in passing}
        if len(kept) >= COUNT or len(nearest) < wanted:
            return dict(list(kept.items())[:COUNT])
        wanted *= 4
