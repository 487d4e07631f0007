"""Options and arguments that several commands share, declared once."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

from capdisc.declaring import BadValueError, argument, option

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def seconds(text: str) -> float:
    """The seconds that `2`, `2s`, `500ms` or `1m` stands for. Raises BadValueError for anything else."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s|m|)", text.strip())
    if not found:
        raise BadValueError(f"{text!r} is no length of time: give seconds, such as 2, 2s, 500ms or 1m")
    return float(found[1]) * _UNITS[found[2]]


def finite(number: float) -> float:
    """The number. Raises BadValueError for "nan", which is in no range and out of none."""
    if math.isnan(number):
        raise BadValueError("nan is no number")
    return number


IndexDir = Annotated[Path | None, option("--index-dir", metavar="DIR", help="Where the index lies.")]
Json = Annotated[bool, option("--json", help="Print JSON.")]
LockTimeout = Annotated[
    float | None,
    option(metavar="TIME", parser=seconds, help="How long to wait for another writer: 2, 2s, 500ms, 1m."),
]
Words = Annotated[list[str] | None, argument(metavar="[QUERY]...", help="What is needed; - reads stdin.")]
Also = Annotated[list[str] | None, option("--also", metavar="QUERY", help="The same wish in other words; fused.")]
Kind = Annotated[list[str] | None, option("--kind", help="Only this kind (repeatable).")]
Category = Annotated[list[str] | None, option("--category", help="Only this category (repeatable).")]
Tag = Annotated[list[str] | None, option("--tag", help="Only with this tag (repeatable).")]
Exclude = Annotated[list[str] | None, option("--exclude", metavar="ID", help="Leave this one out (repeatable).")]
MaxRisk = Annotated[str, option("--max-risk", metavar="RISK", help="low, medium, high or critical at most.")]
Available = Annotated[bool, option("--available", help="Only what has its secrets and programs here.")]
Mode = Annotated[str | None, option("--mode", help="auto, hybrid, lexical, vector or no-graph.")]
SessionName = Annotated[
    str | None,
    option("--session", metavar="NAME", help="Remember in this session what fits; it is begun if new."),
]
EncoderName = Annotated[
    str | None,
    option("--encoder", metavar="NAME", help="static, or a sentence-transformers model: NAME, NAME@DIM or a path."),
]
