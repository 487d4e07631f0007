"""What did `capdisc hook` do in the last seven days, by the sessions that it remembers?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

from capdisc.hook import client_session, use_memory
from capdisc.output.console import format_names
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.tools.capability_lookup import local_name

WEEK_S = 7 * 24 * 3600


@frozen(kw_only=True)
class HookWeek:
    """The prompts of the week, what was suggested for them, how much of that the agent then used or
    ignored, and the names of capabilities that were never asked for, in any week. `by_name` says in
    how many sessions each was suggested, and in how many it was used.
    """

    prompts: int
    suggestions: int
    used: int
    ignored: int
    never_used: tuple[str, ...]
    by_name: Mapping[str, tuple[int, int]]


def count_week(folder: Path, names: Collection[str]) -> HookWeek | None:
    """The week of the hook whose state is in this folder, for an index with these names; None where
    there was no prompt.
    """
    sessions = client_session.list_sessions(folder, time.time() - WEEK_S)
    prompts = sum(session.turns for session in sessions)
    if not prompts:
        return None
    pairs = [
        ({local_name(identifier).casefold() for identifier in session.printed}, session.used_names)
        for session in sessions
    ]
    suggested = Counter(name for names, _ in pairs for name in names)
    used = Counter(name for _, names in pairs for name in names)
    heeded = sum(len(names & set(used_names)) for names, used_names in pairs)
    records = use_memory.load_use_memory(folder).records
    asked_for = {name for name, record in records.items() if record.used}
    never_used = sorted(name for name in names if name.casefold() not in asked_for)
    return HookWeek(
        prompts=prompts,
        suggestions=suggested.total(),
        used=heeded,
        ignored=suggested.total() - heeded,
        never_used=tuple(never_used),
        by_name={name: (suggested[name], used[name]) for name in sorted(suggested | used)},
    )


def describe_week(week: HookWeek) -> list[str]:
    """The week in two lines."""
    return [
        f"{week.prompts:,} prompts, {week.suggestions:,} suggestions: {week.used:,} used, "
        f"{week.ignored:,} ignored",
        f"never asked for: {len(week.never_used):,} ({format_names(week.never_used)})",
    ]
