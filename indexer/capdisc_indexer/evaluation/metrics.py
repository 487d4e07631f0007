"""What one ranking is worth against the capabilities that were judged right: each figure on 0..1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

DEPTH = 10
METRICS = ("nDCG@10", "R@1", "R@5", "R@10", "MRR", "C@10", "refused")


def measures(ids: Sequence[str], gold: Mapping[str, float]) -> tuple[float, ...]:
    """The figures of METRICS for one query, in that order.

    `ids` is the ranking, best first; an id counts once, where it first stands. `gold` holds the grade of every right
    answer, each above 0. R@k is the share of `gold` among the first k, MRR looks at the whole list, C@10 is 1 when all
    of `gold` are among the first ten, and refused is 1 when nothing was returned.
    """
    grades = [gold.get(identifier, 0.0) for identifier in dict.fromkeys(ids)]
    first = next((1.0 / rank for rank, grade in enumerate(grades, 1) if grade > 0), 0.0)
    found = {k: sum(grade > 0 for grade in grades[:k]) / len(gold) for k in (1, 5, DEPTH)}
    ideal = discounted(sorted(gold.values(), reverse=True))
    return (
        discounted(grades) / ideal,
        *found.values(),
        first,
        float(found[DEPTH] == 1.0),
        float(not grades),
    )


def discounted(grades: Sequence[float], depth: int = DEPTH) -> float:
    """The discounted cumulated gain of the first `depth` grades: the grade is the gain, log2(rank + 1) the discount
    (Järvelin and Kekäläinen 2002, in the form that TREC uses).

    >>> discounted([2.0, 0.0, 1.0])
    2.5
    """
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades[:depth], 1))


def means(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The mean of each column; there must be a row."""
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least `percent` of all values do not exceed; there must be a value.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
