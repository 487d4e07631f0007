"""Reranks the first candidates by an optional second encoder, whose cosine the scores gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise

from capdisc_indexer.encoders import Encoder, load_encoder
from capdisc_indexer.model.errors import ENDING_ERRORS, EncoderError
from capdisc_indexer.retrieval import fusion
from capdisc_indexer.retrieval.late_interaction import RERANK_DEPTH, add_weighted
from capdisc_indexer.store.matrix import Matrix
from capdisc_indexer.store.snapshot import Index

# The key of the cosine in `--explain`, and its weight next to the score. With all-MiniLM-L6-v2 on
# eleven data sets, 0.2 to 0.5 differ by 0.2 points; where descriptions are of other languages than
# the encoder, more than that loses. Before late interaction it gains as much; stretched over its
# range it gains less.
COSINE, WEIGHT = "reranker", 0.35
_NO_VECTORS = "the index has no vectors of a reranker: name a model in the setting reranker"


def rerank_scores(
    index: Index, texts: Sequence[str], scores: dict[str, float]
) -> tuple[dict[str, float], Mapping[str, Mapping[str, float]], str]:
    """The scores by id with the cosines of the first candidates in them, the signal that has
    these, and ""; or the scores as they are, and why they are not reranked. A candidate counts by
    the text of its own that is nearest to one of the query's.
    """
    published, matrix = index.generation, index.reranker_matrix
    if not matrix:
        problem = f"{published.reranker} has made no vectors; see: capdisc doctor --all"
        return scores, {}, problem if published.reranker else _NO_VECTORS
    try:
        encoder = _load_reranker(published.reranker, published.reranker_fingerprint)
        queries = [encoder.encode_query(text) for text in texts]
    except EncoderError as error:
        return scores, {}, f"{error.message}; {error.hint}"
    except ENDING_ERRORS:
        raise
    # A third-party model may raise anything, and a panic in Rust is not an Exception.
    except BaseException as error:
        return scores, {}, f"{published.reranker} fails on the query ({type(error).__name__})"
    first_ids = [key for key, _ in fusion.order_scores(scores)[:RERANK_DEPTH]]
    cosines = _compare_texts(matrix, queries, first_ids)
    return add_weighted(scores, cosines, WEIGHT), {COSINE: cosines}, ""


@lru_cache(maxsize=1)
def _load_reranker(name: str, fingerprint: str) -> Encoder:
    """The encoder, loaded once in a process. Raises EncoderError where it cannot be used, which a
    later query tries again.
    """
    encoder = load_encoder(name)
    if encoder.fingerprint != fingerprint:
        raise EncoderError(f"{name} is not what it was", "run: capdisc index --rebuild")
    return encoder


def _compare_texts(
    matrix: Matrix, queries: Sequence[bytes], ids: Sequence[str]
) -> dict[str, float]:
    """The cosine of each capability's nearest row with the nearest query, 0 at least."""
    rows_of_ids = [matrix.rows_of(key) for key in ids]
    rows = list(chain.from_iterable(rows_of_ids))
    ends = [*accumulate(map(len, rows_of_ids), initial=0)]
    distances = [matrix.distances_of(query, rows) for query in queries if rows and any(query)]
    return {
        key: max((1.0 - min(values[start:end]) for values in distances), default=0.0)
        for key, (start, end) in zip(ids, pairwise(ends), strict=True)
    }
