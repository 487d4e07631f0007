"""Every query of a set put to an open index, with the time that each took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from capdisc_indexer.discover import discover
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.evaluation.forms import EvalQuery
from capdisc_indexer.frozen import frozen
from capdisc_indexer.index import Index
from capdisc_indexer.types import Query

Progress = Callable[[str, int, int], None]


@frozen(kw_only=True)
class Answers:
    """What came back in one mode: hits with their scores by query id, milliseconds a query, and what was degraded."""

    mode: str
    hits: Mapping[str, Sequence[tuple[str, float]]]
    milliseconds: Sequence[float]
    degraded: tuple[str, ...]


def answers(
    index: Index, queries: Sequence[EvalQuery], encoder: Encoder | None, mode: str, limit: int, progress: Progress
) -> Answers:
    """The rankings of all queries, `limit` hits deep. The first query is asked once before the clock runs: opening
    the stores' pages is not what a query takes."""
    hits: dict[str, Sequence[tuple[str, float]]] = {}
    taken: list[float] = []
    degraded: dict[str, None] = {}
    for query in queries[:1]:
        discover(index, Query(texts=(query.text,), limit=limit), encoder, mode)
    for done, query in enumerate(queries, 1):
        started = time.perf_counter()
        found = discover(index, Query(texts=(query.text,), limit=limit), encoder, mode)
        taken.append(1000 * (time.perf_counter() - started))
        hits[query.qid] = [(key, hit.score) for hit in found.hits for key in (hit.id, *hit.copies)]
        degraded |= dict.fromkeys(found.degraded)
        progress(f"Asking ({mode})", done, len(queries))
    return Answers(mode=mode, hits=hits, milliseconds=taken, degraded=tuple(degraded))
