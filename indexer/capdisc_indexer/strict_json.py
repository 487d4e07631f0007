"""JSON as its standard has it: no number that is none, and none too large to be held."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


def loads(data: str | bytes) -> Any:
    """The value. Raises ValueError for what is not JSON, and for NaN and Infinity, which Python would take.

    >>> loads('{"a": 1.5}')
    {'a': 1.5}
    """
    try:
        return json.loads(data, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:40]} is too large")
    return number
