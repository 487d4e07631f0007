"""What a client reads here, by its own files and variables: the folders of its skills, the
settings of its list, and which skills were used; and what `capdisc hook` did in the last seven
days.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc.context import client_places, surroundings
from capdisc.hook import client_session, use_memory
from capdisc.output import console
from capdisc.setup import recorded_entries, settings_files
from capdisc.setup.settings_entries import load_data
from capdisc_audit.client_listings import find_client
from capdisc_audit.listing_budgets import ListingSettings
from capdisc_audit.skill_audit import file_of
from capdisc_indexer.config.client_table import (
    client_sections,
    conventional_places,
    conventional_roots,
)
from capdisc_indexer.model.errors import InputError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject
from capdisc_indexer.store.file_states import FileState
from capdisc_indexer.tools.capability_lookup import local_name

# A use counts half as much each week, but a tenth at least, as Claude Code 2.1 weighs it.
_HALF_LIFE_DAYS, _LEAST_WEIGHT = 7.0, 0.1
_MS_PER_DAY = 86_400_000
WEEK_S = 7 * 24 * 3600


@frozen(kw_only=True)
class ReadFolders:
    """The folders from which each client reads skills and commands here, those of plugins apart;
    `all_folders` are those of all clients. `twins` are other files by the path of the one that the
    index keeps: links to it, and copies for other clients.
    """

    folders: Mapping[str, Collection[str]]
    plugins: Mapping[str, Collection[str]]
    all_folders: Collection[str]
    twins: Mapping[str, Sequence[str]]

    def locate(self, client: str, header: CapabilityHeader) -> CapabilityHeader | None:
        """The capability where this client reads it; None where it does not."""
        path = file_of(header)
        if self.reads(client, path):
            return header
        for twin in self.twins.get(path, ()):
            for folder in self.folders[client]:
                if _is_below(twin, (folder,)):
                    located = header.copy()
                    located["source"] = {**header["source"], "root": folder, "path": twin}
                    return located
        return None

    def reads(self, client: str, path: str) -> bool:
        """Whether the client reads this file; all read one that is in no client's folder."""
        own_folders = (*self.folders[client], *self.plugins[client])
        return _is_below(path, own_folders) or not _is_below(path, self.all_folders)

    def is_in_own_folder(self, client: str, path: str) -> bool:
        """Whether the file lies in a folder of the client itself, not of a plugin."""
        return _is_below(path, self.folders[client]) and not _is_below(path, self.plugins[client])


def is_shipped(path: str) -> bool:
    """Whether a client brought the skill of this file, as Codex 0.171 writes its own there when it
    starts: what it lists of those is counted apart.
    """
    return "/skills/.system/" in path


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def find_folders(
    runtime: surroundings.Runtime, clients: Collection[str], files: Iterable[FileState]
) -> ReadFolders:
    """The folders of these clients here, and the twins among these files of an index; a client
    that the table has no folders for has none.
    """
    installed = client_places.find_plugins_here(runtime, "all")[0]
    plugins: dict[str, list[str]] = {client: [] for client in clients}
    for plugin in installed:
        paths = map(Path.as_posix, (*plugin.skills, *plugin.agents, *plugin.commands))
        plugins.setdefault(plugin.client, []).extend(paths)
    sections = client_sections("skills")
    folders = {
        client: _list_folders(runtime, client) if client in sections else [] for client in clients
    }
    all_folders = [
        *_list_folders(runtime, "all"),
        *(path for paths in plugins.values() for path in paths),
    ]
    twins: dict[str, list[str]] = {}
    for file in files:
        links = [path for path in file.read_as.partition(":linked:")[2].split(":") if "/" in path]
        kept = [
            file.path,
            *(entry.other_path for entry in file.declared_ids if not entry.resolved_id),
        ]
        for path in filter(None, kept):
            twins.setdefault(path, []).extend((file.path, *links))
    return ReadFolders(folders=folders, plugins=plugins, all_folders=all_folders, twins=twins)


def _list_folders(runtime: surroundings.Runtime, profile: str) -> list[str]:
    places = (profile, runtime.cwd, runtime.workspace, runtime.home)
    roots = [path.as_posix() for _, path in conventional_roots(*places)]
    patterns = (path for _, _, path in conventional_places(*places))
    return roots + [str(path.parent if "*" in path.name else path) for path in patterns]


def read_used_names(runtime: surroundings.Runtime, settings: ListingSettings) -> set[str]:
    """The casefolded names of what was ever used here, as the client and the hook count."""
    records = use_memory.load_use_memory(runtime.user_state_dir()).records
    used = {name for name, record in records.items() if record.used}
    return used | {name.casefold() for name in settings.uses}


def read_settings(
    runtime: surroundings.Runtime, client: str, window: int | None, budget: int | None
) -> ListingSettings:
    """The settings of a client here: as typed, else as its user has set them."""
    if client == "claude":
        return _read_claude_settings(runtime, window, budget)
    variable = find_client(client).budget_variable
    set_budget = _positive_integer(runtime.environ.get(variable, ""))
    origins = [f"${variable}"] if set_budget and budget is None else []
    overrides: dict[str, str] = {}
    if client in client_sections("visibility"):
        for place in recorded_entries.list_visibility_files(runtime, client):
            try:
                states = recorded_entries.read_switches(client, place)
            except InputError as error:
                console.print_notice(f"notice: {error.message}: it is left out")
                continue
            overrides |= states
            origins += [str(place)] if states else []
    return ListingSettings(
        window=window, budget=budget or set_budget, overrides=overrides, origins=tuple(origins)
    )


def _read_claude_settings(
    runtime: surroundings.Runtime, window: int | None, budget: int | None
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
    uses = _weigh_uses(_mapping(_read_object(state), "skillUsage"), 1000 * time.time())
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
        text = settings_files.read_text(path)
        return load_data(path, text)[0] if text else {}
    except (InputError, RecursionError) as error:
        message = getattr(error, "message", "it is nested too deep")
        reason = "it is not JSON" if message.startswith(str(path)) else message
        console.print_notice(f"notice: {path} is left out: {reason}")
        return {}


def _mapping(values: JsonObject, name: str) -> JsonObject:
    inner = values.get(name)
    return inner if isinstance(inner, dict) else {}


def _positive_integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


# The week of the hook, by the sessions that it remembers.


@frozen(kw_only=True)
class HookWeek:
    """The prompts of the week, what was suggested for them, how much of that the agent then used
    or ignored, and the names of capabilities that were never asked for, in any week. `by_name`
    says in how many sessions each was suggested, and in how many it was used.
    """

    prompts: int
    suggestions: int
    used: int
    ignored: int
    never_used: tuple[str, ...]
    by_name: Mapping[str, tuple[int, int]]


def count_week(folder: Path, names: Collection[str]) -> HookWeek | None:
    """The week of the hook whose state is in this folder, for an index with these names; None
    where there was no prompt.
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
        f"never asked for: {len(week.never_used):,} ({console.format_names(week.never_used)})",
    ]
