"""What came of one case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`faults` is empty when the case passed; `skipped` says why it was not tried. Costs are counted beyond those of
    the smallest case."""

    name: str
    faults: tuple[str, ...] = ()
    skipped: str = ""
    seconds: float = 0.0
    mebibytes: float = 0.0
