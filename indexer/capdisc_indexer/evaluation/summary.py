"""The figures of a set of answers: over all queries, by language, and by how many right answers a
query has.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from capdisc_indexer.evaluation.query_files import EvalQuery
from capdisc_indexer.evaluation.query_runs import EvalRun
from capdisc_indexer.model.frozen import frozen

# How far a mean over queries might be off, had other queries of the kind been asked.

RESAMPLES = 1_000
# The resamples that bound the middle 95 %, counted from 0.
_LOW, _HIGH = 25, 974


def half_widths(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Half the width of the 95 % bootstrap interval of each column's mean (Efron's percentile
    method), in the unit of the rows. The seed is fixed, so that the same rows give the same
    figures.
    """
    generator, columns = random.Random(0), list(zip(*rows, strict=True))
    samples = [generator.choices(range(len(rows)), k=len(rows)) for _ in range(RESAMPLES)]
    return tuple(_half_width(column, samples) for column in columns)


def _half_width(column: Sequence[float], samples: Sequence[Sequence[int]]) -> float:
    # A look-up by `map` keeps the innermost loop out of Python: 500 queries take 0.2 s.
    sums = sorted(sum(map(column.__getitem__, sample)) for sample in samples)
    return (sums[_HIGH] - sums[_LOW]) / 2 / len(column)


# What one ranking is worth against the capabilities that were judged right: each figure on 0..1.

CUTOFF = 10
METRICS = ("nDCG@10", "R@1", "R@5", "R@10", "MRR", "C@10", "refused")


def compute_metrics(ids: Sequence[str], gold: Mapping[str, float]) -> tuple[float, ...]:
    """The figures of METRICS for one query, in that order.

    `ids` is the ranking, best first; an id counts once, where it first stands. `gold` holds the
    grade of every right answer, each above 0. R@k is the share of `gold` among the first k, MRR
    looks at the whole list, C@10 is 1 when all of `gold` are among the first ten, and refused is 1
    when nothing was returned.
    """
    grades = [gold.get(identifier, 0.0) for identifier in dict.fromkeys(ids)]
    first = next((1.0 / rank for rank, grade in enumerate(grades, 1) if grade > 0), 0.0)
    recalls = {k: sum(grade > 0 for grade in grades[:k]) / len(gold) for k in (1, 5, CUTOFF)}
    ideal = discounted_gain(sorted(gold.values(), reverse=True))
    return (
        discounted_gain(grades) / ideal,
        *recalls.values(),
        first,
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
    """The mean of each column; there must be a row."""
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all values do not exceed; there must be a
    value.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


PERCENTILES = (50, 95, 99)


@frozen(kw_only=True)
class EvalGroup:
    """The means over `n` queries by metric, and half the width of their 95 % intervals; all in
    percent.
    """

    name: str
    n: int
    means: Mapping[str, float]
    half_widths: Mapping[str, float]


@frozen(kw_only=True)
class EvalSummary:
    """The figures of one mode: `groups` begins with all queries; `latency` is in milliseconds, by
    percentile.
    """

    mode: str
    groups: tuple[EvalGroup, ...]
    latency: Mapping[int, float]
    degraded: tuple[str, ...]


def summarise_run(
    queries: Sequence[EvalQuery], grades: Mapping[str, Mapping[str, float]], answers: EvalRun
) -> EvalSummary:
    """The figures over `queries`, each of which must have been answered and judged."""
    rows = {
        query.qid: compute_metrics([key for key, _ in answers.hits[query.qid]], grades[query.qid])
        for query in queries
    }
    return EvalSummary(
        mode=answers.mode,
        groups=tuple(
            _summarise_group(name, [rows[qid] for qid in qids])
            for name, qids in _group_queries(queries, grades).items()
        ),
        latency={percent: percentile(answers.milliseconds, percent) for percent in PERCENTILES},
        degraded=answers.degraded,
    )


def _summarise_group(name: str, rows: Sequence[Sequence[float]]) -> EvalGroup:
    percents = [
        tuple(100 * value for value in values) for values in (column_means(rows), half_widths(rows))
    ]
    of_means, of_widths = (dict(zip(METRICS, values, strict=True)) for values in percents)
    return EvalGroup(name=name, n=len(rows), means=of_means, half_widths=of_widths)


def _group_queries(
    queries: Sequence[EvalQuery], grades: Mapping[str, Mapping[str, float]]
) -> dict[str, list[str]]:
    """The ids of the queries of each group that is neither empty nor the whole."""
    groups = {"all": [query.qid for query in queries]}
    for lang in sorted({query.lang for query in queries}):
        groups[f"lang={lang or '?'}"] = [query.qid for query in queries if query.lang == lang]
    groups["gold=1"] = [query.qid for query in queries if len(grades[query.qid]) == 1]
    groups["gold>1"] = [query.qid for query in queries if len(grades[query.qid]) > 1]
    return {
        name: qids for name, qids in groups.items() if name == "all" or 0 < len(qids) < len(queries)
    }
