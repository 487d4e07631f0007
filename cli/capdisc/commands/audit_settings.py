"""What a client's own files and variables say about its list of skills.

Only Claude Code has such settings in a form that its documentation gives: the share of the window,
the limit for one description, what is switched off, and how often each skill was used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc_indexer.audit.listing_budgets import ListingSettings
from capdisc_indexer.model.json_types import JsonObject

# A use counts half as much each week, but a tenth at least, as Claude Code 2.1 weighs it.
_HALF_LIFE_DAYS, _LEAST_WEIGHT = 7.0, 0.1
_MS_PER_DAY = 86_400_000


def read_settings(
    runtime: Runtime, client: str, window: int | None, budget: int | None, now_ms: float
) -> ListingSettings:
    """The settings of a client here: as typed, else as its user has set them."""
    if client == "claude":
        return _read_claude_settings(runtime, window, budget, now_ms)
    variable = {"copilot": "SKILL_CHAR_BUDGET"}.get(client, "")
    set_budget = _positive_integer(runtime.environ.get(variable, ""))
    origins = (f"${variable}",) if set_budget and budget is None else ()
    return ListingSettings(window=window, budget=budget or set_budget, origins=origins)


def _read_claude_settings(
    runtime: Runtime, window: int | None, budget: int | None, now_ms: float
) -> ListingSettings:
    base = runtime.environ.get("CLAUDE_CONFIG_DIR")
    folder = Path(base) if base else runtime.home / ".claude"
    places = [
        folder / "settings.json",
        runtime.workspace / ".claude" / "settings.json",
        runtime.workspace / ".claude" / "settings.local.json",
    ]
    state = (Path(base) if base else runtime.home) / ".claude.json"
    merged: JsonObject = {}
    origins = []
    for place in dict.fromkeys(places):  # the workspace may be the home folder
        values = {
            key: value
            for key, value in _read_object(place).items()
            if key.startswith("skill") or key == "disableBundledSkills"
        }
        overrides = {**_mapping(merged, "skillOverrides"), **_mapping(values, "skillOverrides")}
        merged |= values | ({"skillOverrides": overrides} if overrides else {})
        origins += [str(place)] if values else []
    uses = _weigh_uses(_mapping(_read_object(state), "skillUsage"), now_ms)
    origins += [str(state)] if uses else []
    variable = _positive_integer(runtime.environ.get("SLASH_COMMAND_TOOL_CHAR_BUDGET", ""))
    origins += ["$SLASH_COMMAND_TOOL_CHAR_BUDGET"] if variable and budget is None else []
    share, longest = (
        merged.get("skillListingBudgetFraction"),
        merged.get("skillListingMaxDescChars"),
    )
    return ListingSettings(
        window=window,
        budget=budget or variable,
        share=share if isinstance(share, int | float) and 0 < share <= 1 else None,
        max_description=longest if isinstance(longest, int) and longest > 0 else None,
        has_own_skills=merged.get("disableBundledSkills") is not True,
        uses=uses,
        overrides={
            name: value
            for name, value in _mapping(merged, "skillOverrides").items()
            if isinstance(value, str)
        },
        origins=tuple(origins),
    )


def _weigh_uses(usage: Mapping[str, Any], now_ms: float) -> dict[str, float]:
    """How much each skill is in use, by its name; a skill of a plugin is `plugin:name` there."""
    uses: dict[str, float] = {}
    for key, record in usage.items():
        count, last_ms = (
            (record.get("usageCount"), record.get("lastUsedAt"))
            if isinstance(record, dict)
            else (None, None)
        )
        if isinstance(count, int | float) and isinstance(last_ms, int | float):
            days = max(0.0, (now_ms - last_ms) / _MS_PER_DAY)
            weight = count * max(0.5 ** (days / _HALF_LIFE_DAYS), _LEAST_WEIGHT)
            name = key.rpartition(":")[2]
            uses[name] = max(uses.get(name, 0.0), weight)
    return uses


def _read_object(path: Path) -> JsonObject:
    """The JSON object in a file of the client; an empty one where there is none. A notice names a
    file that cannot be read.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not JSON"
        console.print_notice(f"notice: {path} is left out: {reason}")
        return {}
    return content if isinstance(content, dict) else {}


def _mapping(values: JsonObject, name: str) -> JsonObject:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _positive_integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
