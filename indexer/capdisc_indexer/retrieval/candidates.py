"""Finds the candidates for a query: the best documents by words and the nearest by vectors; says
which filters a query may have, and what passes them.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.model.frozen import field, frozen
from capdisc_indexer.model.json_types import CapabilityHeader, Overview
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.fusion import coverage
from capdisc_indexer.retrieval.query_analysis import CorrectedQuery
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.store.text_queries import has_filters, inverse_document_frequency
from capdisc_indexer.text.normalization import one_line

# From this number on, a better order of the candidates gains more than further candidates.
CANDIDATES_PER_CHANNEL = 100
# Of a clause fewer are enough: only what stands out for it matters. Most of the time that a
# request of many clauses takes goes into reading their candidates.
CANDIDATES_PER_CLAUSE = 40
# The phrases of a capability with fewer are examples and do not show what it is about: the nearest
# one says more than their mean. And how many rows give the mean.
MIN_PHRASES, MAX_CENTROID_ROWS = 3, 24
# Whether a capability has everything here that it needs.
IsAvailable = Callable[[CapabilityHeader], bool]
_NAME_CHARACTERS = 40


@frozen(kw_only=True)
class Candidates:
    """The capabilities found for one text: BM25 scores, cosines and headers, each by id.

    `idf_by_term` holds every searched term; `known_share` is the share 0..1 of their information
    that lies in words of the catalogue; the vector search took `vectors_s` seconds. `query_vector`
    is the encoded text, empty without an encoder.
    """

    idf_by_term: dict[str, float]
    known_share: float
    lexical: dict[str, float]
    vector: dict[str, float]
    headers: dict[str, CapabilityHeader]
    vectors_s: float = 0.0
    query_vector: bytes = b""


def find_candidates(
    index: Index,
    corrected: CorrectedQuery,
    query: Query,
    encoder: Encoder | None,
    mode: str,
    count: int = CANDIDATES_PER_CHANNEL,
) -> Candidates:
    """The candidates for one text that pass the query's filters, `count` of each channel.

    Without an encoder only words are searched, in mode `vector` only vectors.
    """
    terms = corrected.terms
    frequencies = {term: index.documents.document_frequency(term) for term in terms}
    idf_by_term = {
        term: inverse_document_frequency(frequency, len(index.documents))
        for term, frequency in frequencies.items()
    }
    uses_words = mode != "vector" or encoder is None
    lexical, headers = _find_by_words(index, corrected, query, count) if uses_words else ({}, {})
    started = time.perf_counter()
    query_vector = encoder.encode_query(corrected.text) if encoder else b""
    vector = _find_nearest(index, query_vector, query, count) if encoder else {}
    vectors_s = time.perf_counter() - started
    headers |= index.documents.headers_for([key for key in vector if key not in headers], query)
    # Skills that their author hides from the model are indexed and can be shown, but are never
    # offered.
    headers = {key: header for key, header in headers.items() if not header.get("hidden")}
    return Candidates(
        idf_by_term=idf_by_term,
        known_share=coverage(
            idf_by_term,
            frozenset(
                term for term in terms if frequencies[term] or term in corrected.topic_terms
            ),
        ),
        lexical={key: score for key, score in lexical.items() if key in headers},
        headers=headers,
        vector={key: cosine for key, cosine in vector.items() if key in headers},
        vectors_s=vectors_s,
        query_vector=query_vector,
    )


def _find_by_words(
    index: Index, corrected: CorrectedQuery, query: Query, count: int
) -> tuple[dict[str, float], dict[str, CapabilityHeader]]:
    """The BM25 scores and the headers by id of the best `count` capabilities for the terms."""
    terms = corrected.terms
    if index.table is None:
        topic_terms = corrected.topic_terms if corrected.topic_weight else ()
        topic_weights = dict.fromkeys(topic_terms, corrected.topic_weight)
        scored = index.documents.search(terms, query, count, topic_weights)
        return (
            {header["id"]: score for score, header in scored},
            {header["id"]: header for _, header in scored},
        )
    scores = {key: score for score, key in index.table.search(terms, query, count)}
    return scores, index.documents.headers_for(list(scores), Query(texts=()))


def fuse_candidates(
    candidates: Sequence[Candidates], lexical_share: float
) -> list[dict[str, float]]:
    """The scores 0..1 of a whole text and of each of its clauses, from the candidates of each."""
    return [
        fusion.fuse_channels(part.lexical, part.vector, lexical_share * part.known_share)
        for part in candidates
    ]


def collect_headers(
    candidates: Sequence[Sequence[Candidates]],
) -> dict[str, CapabilityHeader]:
    """The headers of all candidates by id."""
    headers: dict[str, CapabilityHeader] = {}
    for candidates_of_text in candidates:
        for candidates_of_part in candidates_of_text:
            headers |= candidates_of_part.headers
    return headers


def find_candidates_of_parts(
    index: Index,
    parts: Sequence[CorrectedQuery],
    query: Query,
    encoder: Encoder | None,
    mode: str,
) -> list[Candidates]:
    """The candidates for a whole text, the first part, and for each of its clauses."""
    counts = [CANDIDATES_PER_CHANNEL, *[CANDIDATES_PER_CLAUSE] * (len(parts) - 1)]
    return [
        find_candidates(index, part, query, encoder, mode, count)
        for part, count in zip(parts, counts, strict=True)
    ]


def _find_nearest(index: Index, vector: bytes, query: Query, limit: int) -> dict[str, float]:
    """Cosines by id of the `limit` nearest capabilities that pass the filters.

    Looks four times as far while the filters leave too few.
    """
    count = limit
    if index.table is not None:
        return dict(index.table.nearest(vector, count, query))
    if index.matrix is None:
        return {}
    while True:
        nearest = index.matrix.nearest(vector, count)
        passing = (
            index.documents.headers_for([key for key, _ in nearest], query)
            if has_filters(query)
            else None
        )
        cosines = {key: cosine for key, cosine in nearest if passing is None or key in passing}
        if len(cosines) >= limit or len(nearest) < count:
            return dict(list(cosines.items())[:limit])
        count *= 4


@frozen
class CentroidCosines:
    """The cosine of a text with the mean of all texts of each capability, by id; and how much of
    its full weight it has, 0..1, by how many of the capabilities have phrases.
    """

    cosines: dict[str, float] = field(default_factory=dict)
    weight: float = 0.0


def compare_with_centroids(
    index: Index, query_vector: bytes, ids: Sequence[str]
) -> CentroidCosines:
    """How near the text is to what the description and the phrases of each capability say
    together; nothing where most of the capabilities have too few phrases.
    """
    matrix = index.matrix
    if matrix is None or not any(query_vector) or not matrix.has_phrases:
        return CentroidCosines()
    rows_of_ids = {}
    for key in ids:
        with contextlib.suppress(KeyError):
            rows_of_ids[key] = matrix.rows_of(key)
    ids_with_phrases = sum(len(rows) > MIN_PHRASES for rows in rows_of_ids.values())
    weight = max(0.0, 2.0 * ids_with_phrases / max(1, len(ids)) - 1.0)
    if not weight:
        return CentroidCosines()
    cosines = {
        key: max(0.0, matrix.centroid_cosine(query_vector, rows[:MAX_CENTROID_ROWS]))
        for key, rows in rows_of_ids.items()
    }
    return CentroidCosines(cosines, weight)


def passes_filters(
    header: CapabilityHeader, query: Query, is_available: IsAvailable | None
) -> bool:
    """Whether a capability passes the filters that the text index does not hold. A query finds at
    most 200 candidates, and each of them is checked once.
    """
    return not query.available or is_available is None or is_available(header)


def require_known_filters(
    overview: Overview, kinds: Sequence[str], categories: Sequence[str]
) -> None:
    """Raises UsageError for a kind or category that no capability of the index has, whatever the
    case of its letters; the hint lists those that there are.
    """
    if not kinds and not categories:
        return
    known_categories = [record["category"].lower() for record in overview["categories"]]
    for label, values, known_values in (
        ("kind", kinds, list(overview["kinds"])),
        ("category", categories, known_categories),
    ):
        folded_values = {known_value.lower() for known_value in known_values}
        for value in values:
            is_general = label == "category" and value.lower() == UNCATEGORISED
            if value.lower() not in folded_values and not is_general:
                raise unknown_filter(label, value, known_values)


def unknown_filter(label: str, value: str, known_values: Collection[str]) -> UsageError:
    """The error for a kind, category or tag that no capability has; its hint names the nearest,
    and those that there are.
    """
    from capdisc_indexer.text.similar_names import hint_names

    plural = "categories" if label == "category" else f"{label}s"
    hint = f"the index holds no {plural}"
    if known_values:
        hint = hint_names(value, sorted(known_values), f"{plural} here")
    return UsageError(f"unknown {label} {one_line(value, _NAME_CHARACTERS)!r}", hint)
