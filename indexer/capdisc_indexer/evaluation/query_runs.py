"""Every query of a set put to an open index, with the time that each took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence

from capdisc_indexer.encoders import Encoder
from capdisc_indexer.evaluation.query_files import EvalQuery
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

# The forms in which rankings are written down, for other programs to score.


def format_trec_run(answers: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """The rankings as `qid Q0 id rank score capdisc`; with tabs between where an id holds a blank
    itself.
    """
    blank = any(
        " " in text for qid, hits in answers.items() for text in (qid, *(key for key, _ in hits))
    )
    between = "\t" if blank else " "
    rows = (
        (qid, "Q0", identifier, str(rank), f"{score:.6f}", "capdisc")
        for qid, hits in answers.items()
        for rank, (identifier, score) in enumerate(hits, 1)
    )
    return "".join(f"{between.join(row)}\n" for row in rows)


def format_json_run(answers: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """The rankings as JSON lines, one for each query, also where nothing was found."""
    rows = (
        {
            "qid": qid,
            "ids": [key for key, _ in hits],
            "scores": [round(score, 6) for _, score in hits],
        }
        for qid, hits in answers.items()
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


Progress = Callable[[str, int, int], None]


@frozen(kw_only=True)
class EvalRun:
    """What came back in one mode: hits with their scores by query id, milliseconds a query, and
    what was degraded.
    """

    mode: str
    hits: Mapping[str, Sequence[tuple[str, float]]]
    milliseconds: Sequence[float]
    degraded: tuple[str, ...]


def run_queries(
    index: Index,
    queries: Sequence[EvalQuery],
    encoder: Encoder | None,
    mode: str,
    limit: int,
    progress: Progress,
) -> EvalRun:
    """The rankings of all queries, `limit` hits deep. The first query is asked once before the
    clock runs: opening the stores' pages is not what a query takes.
    """
    hits: dict[str, Sequence[tuple[str, float]]] = {}
    milliseconds: list[float] = []
    degraded: dict[str, None] = {}
    for query in queries[:1]:
        search_index(index, Query(texts=(query.text,), limit=limit), encoder, mode)
    for done, query in enumerate(queries, 1):
        started = time.perf_counter()
        ranking = search_index(index, Query(texts=(query.text,), limit=limit), encoder, mode)
        milliseconds.append(1000 * (time.perf_counter() - started))
        hits[query.qid] = [
            (key, hit.score) for hit in ranking.hits for key in (hit.id, *hit.copies)
        ]
        degraded |= dict.fromkeys(ranking.degraded)
        progress(f"Asking ({mode})", done, len(queries))
    return EvalRun(mode=mode, hits=hits, milliseconds=milliseconds, degraded=tuple(degraded))
