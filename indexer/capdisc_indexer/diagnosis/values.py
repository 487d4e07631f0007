"""What an examination says of one thing."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from capdisc_indexer.frozen import frozen


class State(StrEnum):
    """How well something is. UNUSABLE: no answer can be had, or none that can be trusted."""

    OK = "ok"
    NOTICE = "notice"
    PROBLEM = "problem"
    UNUSABLE = "unusable"


@frozen(kw_only=True)
class Check:
    """One thing that was looked at: how it is, and the one command that mends it (or, where none can, advice)."""

    name: str
    state: State
    text: str
    fix: str = ""


def worst(checks: Iterable[Check]) -> State:
    """The worst state of all."""
    states = {each.state for each in checks}
    return next(state for state in reversed(State) if state in states or state is State.OK)
