"""What a client can be told to list of skills that nobody uses, and what that saves in each turn.

Only what a user has not set is changed, and nothing of plugins, which have switches of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path

from capdisc.context.surroundings import Runtime
from capdisc.output import console
from capdisc.setup import settings_files
from capdisc.setup.file_changes import FileChange, plan_setup, plan_undo
from capdisc.setup.recorded_entries import (
    NAME_ONLY,
    OFF,
    list_recorded,
    list_switches,
    list_visibility_files,
)
from capdisc.setup.settings_entries import BEHIND, MOVED, SKILLS, SettingsEntry, list_entries
from capdisc_audit.client_listings import find_client
from capdisc_audit.listing_budgets import (
    LARGE_WINDOW,
    UNSEEN_STATES,
    ListedSkill,
    Listing,
    ListingSettings,
    ListingState,
    list_skills,
)
from capdisc_indexer.config.client_table import client_sections
from capdisc_indexer.model.errors import InputError, UsageError
from capdisc_indexer.model.frozen import frozen, replace
from capdisc_indexer.text.token_counts import find_tokenizer, make_counter


@frozen(kw_only=True)
class Saving:
    """The state that the skills of these `ids` get, by file of the settings and then by name or
    path; how many skills the client lists, and by window the tokens of their lines before and
    after. `unseen` are used skills that have no description in the list even then.
    """

    ids: Sequence[str]
    states: Mapping[Path, Mapping[str, str]]
    state: str
    listed: int
    tokens: Mapping[int, tuple[int, int]]
    unseen: int
    is_use_known: bool

    @property
    def changed(self) -> int:
        """How many skills get another state."""
        return sum(map(len, self.states.values()))


def check_client(client: str) -> None:
    """Raises UsageError for a client that has no state of single skills."""
    sections = client_sections("visibility")
    if client not in sections:
        raise UsageError(
            f"{find_client(client).title} has no setting for single skills that capdisc knows",
            f"these have: {', '.join(sections)}",
        )


def choose_saving(
    runtime: Runtime,
    client: str,
    skills: Sequence[ListedSkill],
    settings: ListingSettings,
    used_names: Set[str],
    own_paths: Collection[str],
    is_off: bool,
) -> Saving:
    """The states that make the client's list short: never used skills by their names alone. A
    client that can only switch skills off does so where its list has no room for all, or with
    `is_off`. Raises InputError where skills would be switched off and no use is known.
    """
    rule = find_client(client)
    before = list_skills(rule, skills, settings)
    known_states = client_sections("visibility")[client]["states"]
    state = OFF if is_off or NAME_ONLY not in known_states else NAME_ONLY
    by_id = {skill.id: skill for skill in skills}
    is_over = bool(before.with_state((*UNSEEN_STATES, ListingState.CUT)))
    unused = [
        by_id[entry.id]
        for entry in before.entries
        if entry.state != ListingState.NAMED
        and by_id[entry.id].path in own_paths
        and settings.overrides.get(_label_of(client, by_id[entry.id])) is None
        and not _is_used(by_id[entry.id], used_names)
    ]
    if state == OFF and not is_off and not is_over:
        unused = []
    if state == OFF and unused and not used_names:
        raise InputError(
            "no use of a skill is recorded here, so all of them would be switched off",
            f"the hook records uses: capdisc setup {client}",
        )
    paths = list_visibility_files(runtime, client)
    states: dict[Path, dict[str, str]] = {}
    for skill in unused:
        is_own = runtime.workspace != runtime.home and Path(skill.path).is_relative_to(
            runtime.workspace
        )
        place = paths[-1 if is_own else 0]
        states.setdefault(place, {})[_label_of(client, skill)] = state
    changed = {name: state for labels in states.values() for name, state in labels.items()}
    changed_settings = replace(settings, overrides={**settings.overrides, **changed})
    windows = [settings.window or rule.window]
    if rule.share is not None and settings.window is None and settings.budget is None:
        windows.append(LARGE_WINDOW)
    return Saving(
        ids=[skill.id for skill in unused],
        states=states,
        state=state,
        listed=len(before.entries),
        tokens={
            window: (
                _count_tokens(list_skills(rule, skills, replace(settings, window=window))),
                _count_tokens(list_skills(rule, skills, replace(changed_settings, window=window))),
            )
            for window in windows
        },
        unseen=sum(
            _is_used(by_id[entry.id], used_names)
            for entry in list_skills(rule, skills, changed_settings).with_state(UNSEEN_STATES)
        ),
        is_use_known=bool(used_names),
    )


def describe_saving(client: str, saving: Saving) -> Iterator[str]:
    """What the list takes of each turn, and what it would take; for a larger window, too."""
    title, count = find_client(client).title, console.format_count(saving.listed, "skill")
    (_, (before, after)), *larger = saving.tokens.items()
    if not saving.changed:
        yield f"{title} lists {count} in {before:,} tokens: nothing to save"
        return
    verb = "by their names alone" if saving.state == NAME_ONLY else "switched off"
    yield (
        f"{title} lists {count} in {before:,} tokens of each turn; "
        f"{after:,} with {saving.changed:,} {verb}"
    )
    for window, (before, after) in larger:
        yield f"with a window of {window:,} tokens: {before:,}; then {after:,}"
    if saving.unseen and saving.state == NAME_ONLY:
        yield f"in use, but without room for a description: {saving.unseen:,}; see --off"


def plan_saving(runtime: Runtime, client: str, saving: Saving) -> list[FileChange]:
    """The changes of files that give skills these states."""
    state_dir = runtime.user_state_dir()
    return [
        plan_setup(
            path,
            list_switches(client, path, states),
            settings_files.load_record(state_dir, path),
        )
        for path, states in saving.states.items()
    ]


def plan_undo_of_saving(runtime: Runtime, client: str) -> list[FileChange]:
    """The changes that take back every state that a saving gave; other entries stay."""
    changes = []
    for path in list_visibility_files(runtime, client):
        record = settings_files.load_record(runtime.user_state_dir(), path)
        entries = list_recorded(client, path, record, (SKILLS,)) if record else []
        if record and entries:
            all_entries: list[SettingsEntry] = [
                *list_entries(runtime, client, None, both_scopes=True),
                *list_recorded("", path, record, (SKILLS, BEHIND, MOVED)),
            ]
            kept_entries = [
                entry for entry in all_entries if entry.path == path and entry not in entries
            ]
            changes.append(plan_undo(path, entries, kept_entries, record))
    return changes


def _is_used(skill: ListedSkill, used_names: Set[str]) -> bool:
    return bool(used_names & {skill.name.casefold(), skill.folder.casefold()})


def _label_of(client: str, skill: ListedSkill) -> str:
    """What the client's settings call the skill."""
    if client_sections("visibility")[client]["form"] == "table":
        return skill.path
    return skill.folder if find_client(client).names_by_folder and skill.folder else skill.name


def _count_tokens(listing: Listing) -> int:
    counter = make_counter(find_tokenizer("o200k"))
    return sum(counter.count(f"{entry.line}\n") for entry in listing.entries if entry.line)
