"""The tables and documents of figures that `capdisc eval` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from capdisc.output import console
from capdisc_audit.evaluation import METRICS, EvalGroup, EvalSummary
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc_audit.context_recall import ContextRecall

# For a person: percent with one decimal, in 80 columns.

_NAME_WIDTH = 12
# Each column as wide as its heading, or as "100.0".
_WIDTHS = [max(len(metric), 5) for metric in METRICS]
_HEADINGS = [f"{metric:>{width}}" for metric, width in zip(METRICS, _WIDTHS, strict=True)]
_PERCENTILES = (50, 95)


def format_mode_table(summary: EvalSummary, limit: int, colour: bool) -> list[str]:
    """The lines of a table for one mode: a row for each group of queries, and how long a query
    took.
    """
    rows = []
    for group in summary.groups:
        name = console.sanitise(one_line(group.name, _NAME_WIDTH))
        rows.append([name, f"{group.n:5,}", *_metric_cells(group.means)])
        if group.name == "all":
            rows.append(["", f"{'±':>5}", *_metric_cells(group.half_widths)])
    times = ", ".join(f"p{percent} {value:.1f} ms" for percent, value in summary.latency.items())
    return [
        *_format_rows(["", f"{'n':>5}", *_HEADINGS], rows, colour),
        f"{times} a query",
        f"mode {summary.mode}, {_legend(limit)}",
    ]


def format_comparison_table(
    summaries: Sequence[EvalSummary], limit: int, colour: bool
) -> list[str]:
    """The lines of a table: a row for each mode over all queries, with its interval below."""
    headings = ["mode", *_HEADINGS, *(f"p{percent} ms" for percent in _PERCENTILES)]
    rows = []
    for summary in summaries:
        overall = summary.groups[0]
        times = [f"{summary.latency[percent]:6.1f}" for percent in _PERCENTILES]
        rows.append([summary.mode, *_metric_cells(overall.means), *times])
        rows.append(["±", *_metric_cells(overall.half_widths), "", ""])
    count = console.format_count(summaries[0].groups[0].n, "query", "queries")
    return [*_format_rows(headings, rows, colour), f"{count}, {_legend(limit)}"]


def _format_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], colour: bool
) -> list[str]:
    """Aligned columns; the rows with half widths are dimmed."""
    heading, *lines = console.format_table(headings, rows)
    shown = (console.dim(line, colour and "±" in line) for line in lines)
    return [console.bold(heading, colour), *shown]


def summary_document(summary: EvalSummary) -> dict[str, object]:
    """The figures of one mode for JSON: metrics in percent, times in milliseconds."""
    return {
        "mode": summary.mode,
        "groups": {group.name: _group_document(group) for group in summary.groups},
        "latency_ms": {
            f"p{percent}": round(value, 3) for percent, value in summary.latency.items()
        },
        "degraded": summary.degraded,
    }


def _group_document(group: EvalGroup) -> dict[str, object]:
    return {
        "n": group.n,
        **_round_metrics(group.means),
        "half_width_95": _round_metrics(group.half_widths),
    }


def _round_metrics(values: Mapping[str, float]) -> dict[str, float]:
    return {metric: round(value, 4) for metric, value in values.items()}


def _metric_cells(values: Mapping[str, float]) -> list[str]:
    return [f"{values[metric]:{width}.1f}" for metric, width in zip(METRICS, _WIDTHS, strict=True)]


def _legend(limit: int) -> str:
    return f"{console.format_count(limit, 'hit')} deep; in percent, ± half of a 95 % interval"


def format_recall_table(
    rows: Sequence[ContextRecall], query_count: int, colour: bool
) -> list[str]:
    """The lines of a table with a row for each budget: right answers and tokens of each way."""
    ways = list(rows[0].ways)
    heading = f"{'budget':>8}" + "".join(f"{way:>20}" for way in ways)
    lines = [console.bold(heading, colour)]
    for row in rows:
        cells = "".join(
            f"{spent.recall:9.1f} % /{spent.tokens:7,.0f}" for spent in row.ways.values()
        )
        lines.append(f"{row.budget:8,}{cells}")
    count = console.format_count(query_count, "query", "queries")
    return [*lines, f"{count}: right answers in the text, and its tokens (mean)"]


def recall_document(row: ContextRecall) -> JsonObject:
    """The figures of one budget for JSON: recall in percent."""
    return {
        "budget": row.budget,
        **{
            way.replace(" ", "_"): {
                "recall": round(spent.recall, 4),
                "tokens": round(spent.tokens, 2),
            }
            for way, spent in row.ways.items()
        },
    }
