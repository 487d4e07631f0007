"""Options and arguments that several commands share, declared once."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "": 1.0}


def seconds(text: str) -> float:
    """The seconds that `2`, `2s`, `500ms` or `1m` stands for. Raises typer.BadParameter for anything else."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(ms|s|m|)", text.strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is no length of time: give seconds, such as 2, 2s, 500ms or 1m")
    return float(found[1]) * _UNITS[found[2]]


def finite(number: float) -> float:
    """The number. Raises typer.BadParameter for "nan", which is in no range and out of none."""
    if math.isnan(number):
        raise typer.BadParameter("nan is no number")
    return number


IndexDir = Annotated[Path | None, typer.Option("--index-dir", metavar="DIR", help="Where the index lies.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LockTimeout = Annotated[
    float | None,
    typer.Option(metavar="TIME", parser=seconds, help="How long to wait for another writer: 2, 2s, 500ms, 1m."),
]
Words = Annotated[list[str] | None, typer.Argument(metavar="[QUERY]...", help="What is needed; - reads stdin.")]
Also = Annotated[list[str] | None, typer.Option("--also", metavar="QUERY", help="The same wish in other words; fused.")]
Kind = Annotated[list[str] | None, typer.Option("--kind", help="Only this kind (repeatable).")]
Category = Annotated[list[str] | None, typer.Option("--category", help="Only this category (repeatable).")]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag (repeatable).")]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", metavar="ID", help="Leave this one out (repeatable).")]
MaxRisk = Annotated[str, typer.Option("--max-risk", metavar="RISK", help="low, medium, high or critical at most.")]
Available = Annotated[bool, typer.Option("--available", help="Only what has its secrets and programs here.")]
Mode = Annotated[str | None, typer.Option("--mode", help="auto, hybrid, lexical, vector or no-graph.")]
SessionName = Annotated[
    str | None,
    typer.Option("--session", metavar="NAME", help="Remember in this session what fits; it is begun if new."),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder", metavar="NAME", help="static, or a sentence-transformers model: NAME, NAME@DIM or a path."
    ),
]
