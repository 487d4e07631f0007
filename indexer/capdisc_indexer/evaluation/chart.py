"""A bar for every mode and metric, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from capdisc_indexer import lazy_imports
from capdisc_indexer.evaluation.summary import METRICS, EvalSummary

_CHART_METRICS = METRICS[:-1]
_GROUP_WIDTH = 0.8


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
    return _render_figure(figure, form)


def _render_figure(figure: Any, form: str) -> bytes:
    out = BytesIO()
    # Without a date, the same figures give the same file.
    figure.savefig(out, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
