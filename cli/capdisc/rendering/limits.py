"""Budgets, and how many of each: options over settings."""

from __future__ import annotations

from capdisc.rendering.typed import Limits
from capdisc_indexer.config import Config
from capdisc_indexer.errors import UsageError
from capdisc_indexer.frozen import frozen
from capdisc_indexer.types import UNLIMITED, Budgets

_BUDGETS = {"0": "tier0_budget", "1": "tier1_budget", "2": "tier2_budget", "memory": "memory_budget"}
_TOPS = {"1": "tier1_top_k", "2": "tier2_top_k"}


@frozen(kw_only=True)
class Room:
    """How much may be printed; `is_set` says that somebody chose the total."""

    budgets: Budgets
    is_set: bool
    summaries: int
    details: int

    @property
    def of_everything(self) -> Budgets:
        """For a prompt that holds every capability: the total where it was chosen, else without limit."""
        total = self.budgets.total if self.is_set else UNLIMITED
        return Budgets(tier0=self.budgets.tier0, tier2=total, memory=self.budgets.memory, total=total)


def room(config: Config, limits: Limits) -> Room:
    """The limits; a total above the sum of the tiers' own goes to the details, unless theirs was typed."""
    typed = _numbers("--tier-budget", limits.tier_budget, _BUDGETS)
    tops = _numbers("--tier-top", limits.tier_top, _TOPS)
    tier0, tier1, tier2, memory = (typed.get(key, config[name]) for key, name in _BUDGETS.items())
    total = limits.budget or config["budget"]
    if "2" not in typed:
        tier2 = max(tier2, total - tier0 - tier1)
    return Room(
        budgets=Budgets(tier0=tier0, tier1=tier1, tier2=tier2, memory=memory, total=total),
        is_set=limits.budget is not None or config.origins["budget"] != "default",
        summaries=tops.get("1", config["tier1_top_k"]),
        details=tops.get("2", config["tier2_top_k"]),
    )


def _numbers(option: str, text: str, known: dict[str, str]) -> dict[str, int]:
    """What `0=150,1=600` says. Raises UsageError for anything else."""
    found: dict[str, int] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        key, _, value = (each.strip() for each in part.partition("="))
        if key not in known or not (value.isascii() and value.isdigit() and len(value) < 9):
            raise UsageError(f"{option} {part!r} is not TIER=N", f"TIER is one of: {', '.join(known)}")
        found[key] = int(value)
    return found
