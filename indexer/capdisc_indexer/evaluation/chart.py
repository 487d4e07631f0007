"""A bar for every mode and metric, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from capdisc_indexer import engines
from capdisc_indexer.evaluation.metrics import METRICS
from capdisc_indexer.evaluation.summary import Summary

_SHOWN = METRICS[:-1]
_GROUP_WIDTH = 0.8


def chart(summaries: Sequence[Summary], form: str) -> bytes:
    """The overall figures as a picture in the form `svg` or `png`. Raises InputError without matplotlib."""
    figure = engines.matplotlib().figure.Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    width = _GROUP_WIDTH / len(summaries)
    for position, each in enumerate(summaries):
        whole = each.groups[0]
        places = [place + width * (position - (len(summaries) - 1) / 2) for place in range(len(_SHOWN))]
        heights = [whole.means[metric] for metric in _SHOWN]
        spread = [whole.half_widths[metric] for metric in _SHOWN]
        axes.bar(places, heights, width * 0.9, yerr=spread, label=each.mode, error_kw={"linewidth": 1, "capsize": 2})
    axes.set_xticks(range(len(_SHOWN)), _SHOWN)
    axes.set_ylim(0, 100)
    axes.set_ylabel("percent, with 95 % interval")
    axes.set_title(f"{summaries[0].groups[0].n:,} queries", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(summaries), frameon=False)
    return _printed(figure, form)


def _printed(figure: Any, form: str) -> bytes:
    out = BytesIO()
    # Without a date, the same figures give the same file.
    figure.savefig(out, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()
