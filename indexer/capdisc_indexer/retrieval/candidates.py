"""The first look: the best documents by words, and the nearest by vectors, both past the query's
filters.
"""

from __future__ import annotations

import time
from typing import Any

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.fusion import coverage
from capdisc_indexer.retrieval.query_analysis import correct_spelling
from capdisc_indexer.store import text_queries
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import inverse_document_frequency

# Enough that the order among them, not their choice, is what is left to improve.
CANDIDATES_PER_CHANNEL = 100


@frozen(kw_only=True)
class Candidates:
    """BM25 scores and cosines by id, the heads of all of them, and what each searched term says
    (its IDF); the vectors took `vectors_s`.
    """

    information: dict[str, float]
    known_share: float
    lexical: dict[str, float]
    vector: dict[str, float]
    headers: dict[str, dict[str, Any]]
    vectors_s: float = 0.0


def find_candidates(
    index: Index, text: str, query: Query, encoder: Encoder | None, mode: str
) -> Candidates:
    """The candidates for one text."""
    corrected = correct_spelling(index.documents, text)
    terms = corrected.terms
    frequency = {term: index.documents.document_frequency(term) for term in terms}
    idf_by_term = {
        term: inverse_document_frequency(count, len(index.documents))
        for term, count in frequency.items()
    }
    scored = (
        index.documents.search(terms, query, CANDIDATES_PER_CHANNEL)
        if mode != "vector" or encoder is None
        else []
    )
    lexical = {header["id"]: score for score, header in scored}
    headers = {header["id"]: header for _, header in scored}
    started = time.perf_counter()
    vector = _find_nearest(index, corrected.text, query, encoder) if encoder else {}
    vectors_s = time.perf_counter() - started
    headers |= index.documents.headers_for([key for key in vector if key not in headers], query)
    # Skills that their author hides from the model are indexed and can be shown, but are never
    # offered.
    headers = {key: header for key, header in headers.items() if not header.get("hidden")}
    return Candidates(
        information=idf_by_term,
        known_share=coverage(idf_by_term, frozenset(term for term in terms if frequency[term])),
        lexical={key: score for key, score in lexical.items() if key in headers},
        headers=headers,
        vector={key: cosine for key, cosine in vector.items() if key in headers},
        vectors_s=vectors_s,
    )


def _find_nearest(index: Index, text: str, query: Query, encoder: Encoder) -> dict[str, float]:
    """Cosines of the nearest capabilities that pass the filters; looks further while filters leave
    too few.
    """
    if index.matrix is None:
        return {}
    vector, count = encoder.encode_query(text), CANDIDATES_PER_CHANNEL
    while True:
        nearest = index.matrix.nearest(vector, count)
        passing = (
            index.documents.headers_for([key for key, _ in nearest], query)
            if text_queries.has_filters(query)
            else None
        )
        cosines = {key: cosine for key, cosine in nearest if passing is None or key in passing}
        if len(cosines) >= CANDIDATES_PER_CHANNEL or len(nearest) < count:
            return dict(list(cosines.items())[:CANDIDATES_PER_CHANNEL])
        count *= 4
