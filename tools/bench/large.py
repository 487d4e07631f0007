"""An index as it is asked: what a query costs in CPU time, and how near the int8 matrix comes to exact float vectors.

python tools/bench/large.py INDEX_DIR

Queries are a few neighbouring words out of the descriptions in the index, the same ones every time.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from capdisc_indexer import encoders, lazy_imports
from capdisc_indexer.model.records import from_record
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index
from capdisc_indexer.text.embedding_text import embedding_texts

QUERIES, FIRST = 100, 10


def main(argv: Sequence[str]) -> int:
    """Print the figures."""
    began = time.process_time()
    with Index(Path(argv[0])) as index:
        print(f"open            {1000 * (time.process_time() - began):8.1f} ms")
        encoder, asked = encoders.load_encoder(), queries(index)
        search_index(index, Query(texts=("warm up",)), encoder)
        wanted = [Query(texts=(text,)) for text in asked]
        for mode in ("auto", "lexical"):
            taken = [
                _taken(partial(search_index, index, query, encoder, mode)) for query in wanted
            ]
            print(f"query, {mode:8s} {_spread(taken)}")
        if index.matrix is not None:
            ready = [encoder.encode_query(text) for text in asked]
            taken = [_taken(partial(index.matrix.nearest, query, 100)) for query in ready]
            print(f"nearest 100     {_spread(taken)}")
            print(
                f"recall@{FIRST}       {recall(index, encoder, asked):8.3f} of {len(index.matrix):,} rows"
            )
    return 0


def queries(index: Index) -> list[str]:
    """Three to nine words of a description each."""
    rng = random.Random(5)
    names = rng.sample(
        index.matrix.names() if index.matrix else [], min(QUERIES, index.generation.counts["rows"])
    )
    heads = index.documents.headers_for(names, Query(texts=()))
    found = []
    for name in names:
        words = heads[name]["description"].split()
        start, length = rng.randrange(max(1, len(words) - 9)), rng.randint(3, 9)
        found.append(" ".join(words[start : start + length]))
    return found


def recall(index: Index, encoder: encoders.Encoder, asked: Sequence[str]) -> float:
    """The share of the first ten by float vectors, equal ones all counting, that the matrix gives."""
    assert index.matrix is not None
    np = lazy_imports.numpy()
    texts = [
        (header["id"], text)
        for header, body, _ in index.documents.full_records(index.columns.ids)
        for text in embedding_texts(from_record(header, body))
    ]
    names = [key for key, _ in texts]
    rows = encoder.encode([text for _, text in texts])
    shares = []
    for text, row in zip(asked, encoder.encode(asked), strict=True):
        cosines = rows @ row
        least = np.partition(cosines, -FIRST)[-FIRST] - 1e-6
        right = {names[place] for place in np.nonzero(cosines >= least)[0]}
        found = index.matrix.nearest(encoder.encode_query(text), FIRST)
        shares.append(sum(name in right for name, _ in found) / FIRST)
    return statistics.mean(shares)


def _taken(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def _spread(taken: Sequence[float]) -> str:
    return f"{statistics.median(taken):8.1f} ms (least {min(taken):.1f}, most {max(taken):.1f})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
