"""One measured figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured on a catalogue of `size`. `ratio` is to `python -c pass` in the same run; `most` what it may
    be, in the figure's own unit (× of pass where the unit is ×); `low` and `high` are the quartiles, in its unit."""

    group: str
    name: str
    size: int
    value: float
    unit: str = "ms"
    ratio: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None

    def line(self) -> str:
        """The figure for a person."""
        times = f"{self.ratio:8.1f} ×" if self.ratio is not None else " " * 10
        aim = f"   (at most {self.most:g})" if self.most is not None else ""
        spread = f"   {self.low:.4g} to {self.high:.4g}" if self.low is not None else ""
        return f"{self.group:6s} {self.name:40s} {self.size:>9,d} {self.value:10.2f} {self.unit:6s}{times}{spread}{aim}"
