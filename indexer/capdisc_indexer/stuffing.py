"""What repeating words earns: less than nothing, so that nobody gains by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# A description that says three words twelve times meets a query for them better than an honest one: by a third.
HELD_BACK = 0.6


def held_back(scores: Mapping[str, float], heads: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The scores of what has a head, those of stuffed descriptions lowered."""
    return {
        key: scores[key] * (HELD_BACK if "keyword-stuffing" in head.get("warnings", ()) else 1.0)
        for key, head in heads.items()
    }
