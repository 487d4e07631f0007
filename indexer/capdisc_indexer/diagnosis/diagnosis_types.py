"""What an examination says of one thing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from capdisc_indexer.indexing.previous_build import recover_settings
from capdisc_indexer.model.frozen import frozen

# Commands as they are to be typed.


def quote_path(path: Path) -> str:
    """The path as a word of a shell."""
    return shlex.quote(str(path))


def index_command(index_dir: Path, *options: str) -> str:
    """What brings the index up to date with the folders that it was made of, as far as they are
    known and there.
    """
    roots = [Path(root) for root in recover_settings(index_dir).roots]
    words = [
        *options,
        *(quote_path(root) for root in roots if root.exists()),
        f"--index-dir {quote_path(index_dir)}",
    ]
    return f"capdisc index {' '.join(words)}"


class CheckState(StrEnum):
    """How well something is. UNUSABLE: no answer can be had, or none that can be trusted."""

    OK = "ok"
    NOTICE = "notice"
    PROBLEM = "problem"
    UNUSABLE = "unusable"


@frozen(kw_only=True)
class Check:
    """One thing that was looked at: how it is, and the one command that mends it (or, where none
    can, advice).
    """

    name: str
    state: CheckState
    text: str
    fix: str = ""


def worst_state(checks: Iterable[Check]) -> CheckState:
    """The worst state of all."""
    states = {check.state for check in checks}
    return next(
        state for state in reversed(CheckState) if state in states or state is CheckState.OK
    )
