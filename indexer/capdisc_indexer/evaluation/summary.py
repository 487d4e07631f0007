"""The figures of a set of answers: over all queries, by language, and by how many right answers a query has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc_indexer.evaluation.asking import Answers
from capdisc_indexer.evaluation.bootstrap import half_widths
from capdisc_indexer.evaluation.forms import EvalQuery
from capdisc_indexer.evaluation.metrics import METRICS, means, measures, percentile
from capdisc_indexer.frozen import frozen

PERCENTILES = (50, 95, 99)


@frozen(kw_only=True)
class Group:
    """The means over `n` queries by metric, and half the width of their 95 % intervals; all in percent."""

    name: str
    n: int
    means: Mapping[str, float]
    half_widths: Mapping[str, float]


@frozen(kw_only=True)
class Summary:
    """The figures of one mode: `groups` begins with all queries; `latency` is in milliseconds, by percentile."""

    mode: str
    groups: tuple[Group, ...]
    latency: Mapping[int, float]
    degraded: tuple[str, ...]


def summarise(queries: Sequence[EvalQuery], grades: Mapping[str, Mapping[str, float]], answers: Answers) -> Summary:
    """The figures over `queries`, each of which must have been answered and judged."""
    rows = {query.qid: measures([key for key, _ in answers.hits[query.qid]], grades[query.qid]) for query in queries}
    return Summary(
        mode=answers.mode,
        groups=tuple(_group(name, [rows[qid] for qid in qids]) for name, qids in _groups(queries, grades).items()),
        latency={each: percentile(answers.milliseconds, each) for each in PERCENTILES},
        degraded=answers.degraded,
    )


def _group(name: str, rows: Sequence[Sequence[float]]) -> Group:
    percents = [tuple(100 * value for value in values) for values in (means(rows), half_widths(rows))]
    of_means, of_widths = (dict(zip(METRICS, values, strict=True)) for values in percents)
    return Group(name=name, n=len(rows), means=of_means, half_widths=of_widths)


def _groups(queries: Sequence[EvalQuery], grades: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """The ids of the queries of each group that is neither empty nor the whole."""
    groups = {"all": [query.qid for query in queries]}
    for lang in sorted({query.lang for query in queries}):
        groups[f"lang={lang or '?'}"] = [query.qid for query in queries if query.lang == lang]
    groups["gold=1"] = [query.qid for query in queries if len(grades[query.qid]) == 1]
    groups["gold>1"] = [query.qid for query in queries if len(grades[query.qid]) > 1]
    return {name: qids for name, qids in groups.items() if name == "all" or 0 < len(qids) < len(queries)}
