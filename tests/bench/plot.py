"""The figures of `bench.py --json FILE` as one picture: how long commands take, in multiples of a bare interpreter.

python tests/bench/plot.py tests/bench/measured.json tests/bench/measured.svg
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import lazy_imports

_COLD, _PEER = "#3b6ea5", "#b8b8b8"
_COLOURS = {"cold": _COLD, "peers": _PEER}


def main(argv: Sequence[str]) -> int:
    """Draw it."""
    source, target = map(Path, argv)
    document = json.loads(source.read_text(encoding="utf-8"))
    bars = {
        _bar(one)[0]: _bar(one)
        for one in document["figures"]
        if one["ratio"] and one["group"] in _COLOURS
    }
    _draw(sorted(bars.values(), key=lambda bar: bar[1]), document["machine"], target)
    return 0


def _bar(figure: Mapping[str, Any]) -> tuple[str, float, str]:
    asks = figure["name"].startswith(("search", "render")) and figure["group"] != "peers"
    where = f", {figure['size']:,} capabilities" if asks else ""
    ours = (
        ""
        if figure["name"].startswith(("python", "agentskills", "skill", "capdisc"))
        else "capdisc "
    )
    colour = _COLD if figure["name"].startswith("capdisc") else _COLOURS[figure["group"]]
    return f"{ours}{figure['name']}{where}", figure["ratio"], colour


def _draw(
    bars: Sequence[tuple[str, float, str]], machine: Mapping[str, Any], target: Path
) -> None:
    plot = lazy_imports.matplotlib()
    picture = plot.figure.Figure(figsize=(8, 0.28 * len(bars) + 1.0), layout="constrained")
    axes = picture.subplots()
    axes.barh(
        [name for name, *_ in bars],
        [ratio for _, ratio, _ in bars],
        color=[colour for *_, colour in bars],
    )
    for at, (_, ratio, _) in enumerate(bars):
        axes.text(ratio, at, f" {ratio:.1f}", va="center", fontsize=8)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlabel("multiples of python -c pass, whole process, medians", fontsize=8)
    axes.set_title(
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}", fontsize=8
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    picture.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
