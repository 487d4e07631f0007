"""What did `capdisc hook` do in the last seven days, by the sessions that it remembers?"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from capdisc.hook import client_session, use_memory
from capdisc.output.console import format_names
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.tools.capability_lookup import local_name

WEEK_S = 7 * 24 * 3600


@frozen(kw_only=True)
class HookWeek:
    """The prompts of the week, what was suggested for them, how much of that the agent then used or
    ignored, and the names of capabilities that were never asked for, in any week.
    """

    prompts: int
    suggestions: int
    used: int
    ignored: int
    never_used: tuple[str, ...]


def count_week(folder: Path, names: Collection[str]) -> HookWeek | None:
    """The week of the hook whose state is in this folder, for an index with these names; None where
    there was no prompt.
    """
    sessions = client_session.list_sessions(folder, time.time() - WEEK_S)
    prompts = sum(session.turns for session in sessions)
    if not prompts:
        return None
    suggestions = used = 0
    for session in sessions:
        suggested = {local_name(identifier).casefold() for identifier in session.printed}
        suggestions += len(suggested)
        used += len(suggested & set(session.used_names))
    records = use_memory.load_use_memory(folder).records
    asked_for = {name for name, record in records.items() if record.used}
    never_used = sorted(name for name in names if name.casefold() not in asked_for)
    return HookWeek(
        prompts=prompts,
        suggestions=suggestions,
        used=used,
        ignored=suggestions - used,
        never_used=tuple(never_used),
    )


def describe_week(week: HookWeek) -> list[str]:
    """The week in two lines."""
    return [
        f"{week.prompts:,} prompts, {week.suggestions:,} suggestions: {week.used:,} used, "
        f"{week.ignored:,} ignored",
        f"never asked for: {len(week.never_used):,} ({format_names(week.never_used)})",
    ]
