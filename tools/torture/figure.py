"""What one long test came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """How often a promise was put to the test, and how often it was broken; `note` says what else was seen."""

    requirement: str
    promise: str
    done: int
    failed: int
    note: str = ""
