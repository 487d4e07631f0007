"""How well an index answers judged queries: the figures of a run over all queries, by language,
and by the number of right answers; with 95 % bootstrap intervals, and as files for other programs.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeAlias

from capdisc_audit.query_files import EvalQuery, Grades
from capdisc_indexer import lazy_imports
from capdisc_indexer.encoders import Encoder
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Query
from capdisc_indexer.retrieval.pipeline import search_index
from capdisc_indexer.store.snapshot import Index

# Ids with their scores by query id, best first.
Rankings: TypeAlias = Mapping[str, Sequence[tuple[str, float]]]
# Called with what is done, how many queries are answered, and how many there are.
Progress: TypeAlias = Callable[[str, int, int], None]


@frozen(kw_only=True)
class EvalRun:
    """The rankings of all queries in one mode, the milliseconds of each query, and why the search
    was degraded.
    """

    mode: str
    hits: Rankings
    milliseconds: Sequence[float]
    degraded: tuple[str, ...]


RESAMPLES = 1_000
# The resamples that bound the middle 95 %, counted from 0.
_LOW, _HIGH = 25, 974
CUTOFF = 10
METRICS = ("nDCG@10", "R@1", "R@5", "R@10", "MRR", "C@10", "refused")
PERCENTILES = (50, 95, 99)
_CHART_METRICS = METRICS[:-1]
_GROUP_WIDTH = 0.8


def run_queries(
    index: Index,
    queries: Sequence[EvalQuery],
    encoder: Encoder | None,
    mode: str,
    limit: int,
    progress: Progress,
) -> EvalRun:
    """The rankings of all queries, `limit` hits deep. The first query runs once untimed: reading
    the stores' pages for the first time does not count as time of a query.
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


def format_trec_run(rankings: Rankings) -> str:
    """The rankings as lines `qid Q0 id rank score capdisc`; separated by tabs where an id holds a
    blank.
    """
    has_blank = any(
        " " in text for qid, hits in rankings.items() for text in (qid, *(key for key, _ in hits))
    )
    separator = "\t" if has_blank else " "
    rows = (
        (qid, "Q0", identifier, str(rank), f"{score:.6f}", "capdisc")
        for qid, hits in rankings.items()
        for rank, (identifier, score) in enumerate(hits, 1)
    )
    return "".join(f"{separator.join(row)}\n" for row in rows)


def format_json_run(rankings: Rankings) -> str:
    """The rankings as JSON lines, one for each query, also where nothing was found."""
    rows = (
        {
            "qid": qid,
            "ids": [key for key, _ in hits],
            "scores": [round(score, 6) for _, score in hits],
        }
        for qid, hits in rankings.items()
    )
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


# The uncertainty of a mean: how far it might be off with other queries of the same sort.


def half_widths(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Half the width of the 95 % bootstrap interval of each column's mean (Efron's percentile
    method), in the unit of the rows. The seed is fixed: the same rows give the same figures.
    """
    generator, columns = random.Random(0), list(zip(*rows, strict=True))
    samples = [generator.choices(range(len(rows)), k=len(rows)) for _ in range(RESAMPLES)]
    return tuple(_half_width(column, samples) for column in columns)


def _half_width(column: Sequence[float], samples: Sequence[Sequence[int]]) -> float:
    # `map` keeps the innermost loop out of Python: 500 queries take 0.2 s.
    sums = sorted(sum(map(column.__getitem__, sample)) for sample in samples)
    return (sums[_HIGH] - sums[_LOW]) / 2 / len(column)


# The metrics of one ranking against the judgements, each 0..1.


def compute_metrics(ids: Sequence[str], gold: Grades) -> tuple[float, ...]:
    """The METRICS of one query, in that order.

    `ids` is the ranking, best first; an id counts once, where it first stands. `gold` holds the
    grade of every right answer, each above 0. R@k is the share of `gold` among the first k, MRR
    goes over the whole list, C@10 is 1 when all of `gold` are among the first ten, and refused is
    1 when nothing was returned.
    """
    grades = [gold.get(identifier, 0.0) for identifier in dict.fromkeys(ids)]
    reciprocal_rank = next((1.0 / rank for rank, grade in enumerate(grades, 1) if grade > 0), 0.0)
    recalls = {k: sum(grade > 0 for grade in grades[:k]) / len(gold) for k in (1, 5, CUTOFF)}
    ideal = discounted_gain(sorted(gold.values(), reverse=True))
    return (
        discounted_gain(grades) / ideal,
        *recalls.values(),
        reciprocal_rank,
        float(recalls[CUTOFF] == 1.0),
        float(not grades),
    )


def discounted_gain(grades: Sequence[float], depth: int = CUTOFF) -> float:
    """The discounted cumulated gain of the first `depth` grades: the grade is the gain, log2(rank
    + 1) the discount (Järvelin and Kekäläinen 2002, in the form that TREC uses).

    >>> discounted_gain([2.0, 0.0, 1.0])
    2.5
    """
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:depth], 1))


def column_means(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The mean of each column of one row or more."""
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of one value or more that at least `percent` of them do not exceed.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


@frozen(kw_only=True)
class EvalGroup:
    """The means over `n` queries by metric, and half the widths of their 95 % intervals, all in
    percent.
    """

    name: str
    n: int
    means: Mapping[str, float]
    half_widths: Mapping[str, float]


@frozen(kw_only=True)
class EvalSummary:
    """The figures of one mode: the first of `groups` is all queries; `latency` is in milliseconds,
    by percentile.
    """

    mode: str
    groups: tuple[EvalGroup, ...]
    latency: Mapping[int, float]
    degraded: tuple[str, ...]


def summarise_run(
    queries: Sequence[EvalQuery], grades: Mapping[str, Grades], run: EvalRun
) -> EvalSummary:
    """The figures over `queries`, each of which the run answered and the grades judge."""
    rows = {
        query.qid: compute_metrics([key for key, _ in run.hits[query.qid]], grades[query.qid])
        for query in queries
    }
    return EvalSummary(
        mode=run.mode,
        groups=tuple(
            _summarise_group(name, [rows[qid] for qid in qids])
            for name, qids in _group_queries(queries, grades).items()
        ),
        latency={percent: percentile(run.milliseconds, percent) for percent in PERCENTILES},
        degraded=run.degraded,
    )


def _summarise_group(name: str, rows: Sequence[Sequence[float]]) -> EvalGroup:
    return EvalGroup(
        name=name,
        n=len(rows),
        means=_percent_by_metric(column_means(rows)),
        half_widths=_percent_by_metric(half_widths(rows)),
    )


def _percent_by_metric(values: Sequence[float]) -> dict[str, float]:
    return {metric: 100 * value for metric, value in zip(METRICS, values, strict=True)}


def _group_queries(
    queries: Sequence[EvalQuery], grades: Mapping[str, Grades]
) -> dict[str, list[str]]:
    """The ids of the queries of each group; groups that are empty or hold all queries are left
    out, but for the group "all".
    """
    groups = {"all": [query.qid for query in queries]}
    for lang in sorted({query.lang for query in queries}):
        groups[f"lang={lang or '?'}"] = [query.qid for query in queries if query.lang == lang]
    groups["gold=1"] = [query.qid for query in queries if len(grades[query.qid]) == 1]
    groups["gold>1"] = [query.qid for query in queries if len(grades[query.qid]) > 1]
    return {
        name: qids
        for name, qids in groups.items()
        if name == "all" or 0 < len(qids) < len(queries)
    }


# A bar for every mode and metric, with its interval.


def draw_chart(summaries: Sequence[EvalSummary], form: str) -> bytes:
    """The overall figures as a picture in the form `svg` or `png`. Raises InputError without
    matplotlib.
    """
    figure = lazy_imports.matplotlib().figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    width = _GROUP_WIDTH / len(summaries)
    for position, summary in enumerate(summaries):
        overall = summary.groups[0]
        bar_positions = [
            position_of_metric + width * (position - (len(summaries) - 1) / 2)
            for position_of_metric in range(len(_CHART_METRICS))
        ]
        heights = [overall.means[metric] for metric in _CHART_METRICS]
        spread = [overall.half_widths[metric] for metric in _CHART_METRICS]
        axes.bar(
            bar_positions,
            heights,
            width * 0.9,
            yerr=spread,
            label=summary.mode,
            error_kw={"linewidth": 1, "capsize": 2},
        )
    axes.set_xticks(range(len(_CHART_METRICS)), _CHART_METRICS)
    axes.set_ylim(0, 100)
    axes.set_ylabel("percent, with 95 % interval")
    axes.set_title(f"{summaries[0].groups[0].n:,} queries", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(summaries), frameon=False)
    return render_figure(figure, form)


def render_figure(figure: Any, form: str) -> bytes:
    """The figure of matplotlib as a file of this form, `svg` or `png`."""
    out = BytesIO()
    # Without a date, the same figures give the same file.
    figure.savefig(out, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
