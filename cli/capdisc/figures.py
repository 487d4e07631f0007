"""Figures of an evaluation as a person reads them: percent with one decimal, in 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from capdisc import output
from capdisc_indexer.evaluation.metrics import METRICS
from capdisc_indexer.evaluation.summary import Group, Summary
from capdisc_indexer.text import one_line

_NAME_WIDTH = 12
# Each column as wide as its heading, or as "100.0".
_WIDTHS = [max(len(metric), 5) for metric in METRICS]
_TIMES = (50, 95)


def of_one(summary: Summary, limit: int, colour: bool) -> list[str]:
    """The figures of one mode, a row for each group of queries, and how long a query took."""
    width = min(_NAME_WIDTH, max(len(group.name) for group in summary.groups))
    rows = [output.bold(f"{'':{width}}  {'n':>5}{_headings()}", colour)]
    for group in summary.groups:
        name = output.safe(one_line(group.name, width))
        rows.append(f"{name:{width}}  {group.n:5,}{_cells(group.means)}")
        if group.name == "all":
            rows.append(output.dim(f"{'±':>{width + 7}}{_cells(group.half_widths)}", colour))
    times = ", ".join(f"p{percent} {value:.1f} ms" for percent, value in summary.latency.items())
    return [*rows, f"{times} a query", f"mode {summary.mode}, {_legend(limit)}"]


def of_several(summaries: Sequence[Summary], limit: int, colour: bool) -> list[str]:
    """A row for each mode over all queries, with its interval below it."""
    width = max(len("mode"), *(len(each.mode) for each in summaries))
    rows = [output.bold(f"{'mode':{width}}{_headings()}{''.join(f'  p{each} ms' for each in _TIMES)}", colour)]
    for each in summaries:
        whole, times = each.groups[0], "".join(f"{each.latency[percent]:8.1f}" for percent in _TIMES)
        rows.append(f"{each.mode:{width}}{_cells(whole.means)}{times}")
        rows.append(output.dim(f"{'±':>{width}}{_cells(whole.half_widths)}", colour))
    return [*rows, f"{output.count(summaries[0].groups[0].n, 'query', 'queries')}, {_legend(limit)}"]


def document(summary: Summary) -> dict[str, object]:
    """The same as JSON values: figures in percent, times in milliseconds."""
    return {
        "mode": summary.mode,
        "groups": {group.name: _group(group) for group in summary.groups},
        "latency_ms": {f"p{percent}": round(value, 3) for percent, value in summary.latency.items()},
        "degraded": summary.degraded,
    }


def _group(group: Group) -> dict[str, object]:
    return {"n": group.n, **_rounded(group.means), "half_width_95": _rounded(group.half_widths)}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {metric: round(value, 4) for metric, value in values.items()}


def _headings() -> str:
    return "".join(f"  {metric:>{width}}" for metric, width in zip(METRICS, _WIDTHS, strict=True))


def _cells(values: Mapping[str, float]) -> str:
    return "".join(f"  {values[metric]:{width}.1f}" for metric, width in zip(METRICS, _WIDTHS, strict=True))


def _legend(limit: int) -> str:
    return f"{output.count(limit, 'hit')} deep; in percent, ± half of a 95 % interval"
