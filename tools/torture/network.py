"""R48: a link over the network is followed only when asked, and only to a public place, within limits."""

from __future__ import annotations

import random
from pathlib import Path

from figure import Figure
from url_cases import CASES, outcome


def r48(work: Path, rng: random.Random, scale: float) -> Figure:
    """All the cases, in any order; there are as many of them at every scale."""
    wrong = []
    for case in rng.sample(CASES, len(CASES)):
        found = outcome(case)
        if found != case.verdict:
            wrong.append(f"{case.name}: {found} instead of {case.verdict}")
    promise = "links over the network: refused, allowed or asked for as the table says"
    return Figure("R48", promise, len(CASES), len(wrong), "; ".join(wrong))
