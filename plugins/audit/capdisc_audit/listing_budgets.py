"""How a client makes its list of skills fit its budget: what it cuts, drops and leaves out.

A client puts a list of all skills, name and description, into every session. Most have a budget
for it; `client_listings` has the rule of each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from capdisc_indexer.model.frozen import field, frozen, replace


class ListingState(StrEnum):
    """What a client shows of a skill: the whole description, a part, the name alone because there
    is no room, the name alone because its user chose so, or nothing.
    """

    FULL = "full"
    CUT = "cut"
    DROPPED = "dropped"
    NAMED = "named"
    LEFT_OUT = "left-out"


# The states in which a model has no description to choose the skill by, for lack of room.
UNSEEN_STATES = (ListingState.DROPPED, ListingState.LEFT_OUT)
# The window of models that have more than the usual one.
LARGE_WINDOW = 1_000_000


@frozen(kw_only=True)
class ListedSkill:
    """A skill as a client reads it; `folder` is the name of its folder. `uses` orders the skills
    of a client that prefers those in use; `is_named_only` says that its user wants no description
    of it in the list.
    """

    id: str
    name: str
    description: str
    when_to_use: str = ""
    path: str = ""
    short_path: str = ""
    folder: str = ""
    uses: float = 0.0
    is_named_only: bool = False


@frozen(kw_only=True)
class ListingEntry:
    """One skill in a client's list. `needs` is what its whole line costs in the unit of the
    budget, `takes` what the printed part costs; `whole` and `line` are these lines ("": none).
    """

    id: str
    state: ListingState
    needs: int
    takes: int
    whole: str
    line: str
    description_characters: int
    shown_characters: int


@frozen(kw_only=True)
class Listing:
    """The list that a client makes. `budget` is None for a client without one; `own` is the part
    of it that the client's own skills take. `needs` and `takes` are sums over the skills of the
    index.
    """

    client: str
    unit: str
    budget: int | None
    own: int
    needs: int
    takes: int
    entries: Sequence[ListingEntry]

    def with_state(self, states: Collection[ListingState]) -> list[ListingEntry]:
        """The entries with one of these states."""
        return [entry for entry in self.entries if entry.state in states]


@frozen(kw_only=True)
class ListingSettings:
    """What a user has set in a client, or asks for here.

    `window` is the context window in tokens, `budget` the whole budget in the client's unit,
    `share` the share of the window; `uses` are by name of the skill, `overrides` by name or path.
    `origins` says where each came from.
    """

    window: int | None = None
    budget: int | None = None
    share: float | None = None
    max_description: int | None = None
    has_own_skills: bool = True
    uses: Mapping[str, float] = field(default_factory=dict)
    overrides: Mapping[str, str] = field(default_factory=dict)
    origins: Sequence[str] = ()


@frozen(kw_only=True)
class FigureSource:
    """Where a figure of a client comes from, and when it was looked up."""

    figure: str
    source: str
    date: str


LineFormat = Callable[[ListedSkill, str], str]


@frozen(kw_only=True)
class ClientListing:
    """How one client lists skills.

    The budget is `share` of the window, or the fixed `budget`; neither: there is none. `own` is
    what the client's own `own_skills` take of it in full; where they are cut with all others,
    `own_descriptions` has the characters of each. `token_units` are pairs of the largest window
    (0: any other) and the units that a token stands for there. `advice` names the setting that
    raises it, to `max_budget` at most, with `{budget}` and `{share}` to fill in.
    """

    name: str
    title: str
    version: str
    format_line: LineFormat
    fit: Callable[[ClientListing, Sequence[ListedSkill], int, int], list[ListingEntry]]
    measure: Callable[[str], int]
    unit: str = "characters"
    window: int = 200_000
    share: float | None = None
    budget: int | None = None
    token_units: Sequence[tuple[int, float]] = ((0, 1.0),)
    max_description: int | None = None
    cut_mark: str = ""
    own: int = 0
    own_skills: int = 0
    own_descriptions: Mapping[str, int] = MappingProxyType({})
    names_by_folder: bool = False
    lists_hidden: bool = False
    lists_same_names: bool = False
    has_when_to_use: bool = False
    prefers_used: bool = False
    max_budget: int | None = None
    budget_variable: str = ""
    order: str = ""
    overflow: str = ""
    advice: str = ""
    sources: Sequence[FigureSource] = ()

    def units_of(self, window: int) -> float:
        """The units of the budget that a window of this many tokens has."""
        units = next(units for limit, units in self.token_units if not limit or window <= limit)
        return window * units


def full_description(rule: ClientListing, skill: ListedSkill) -> str:
    """The description as the client would print it with room for all."""
    if rule.has_when_to_use and skill.when_to_use:
        return f"{skill.description} - {skill.when_to_use}"
    return skill.description


def _cut_description(rule: ClientListing, skill: ListedSkill) -> str:
    """The description within the client's limit for one skill."""
    text, limit = full_description(rule, skill), rule.max_description
    if limit is None or len(text) <= limit:
        return text
    return text[: limit - len(rule.cut_mark)] + rule.cut_mark


def _make_entry(
    rule: ClientListing, skill: ListedSkill, shown: str, state: ListingState | None = None
) -> ListingEntry:
    """The entry of a skill of which the client shows this much of the description."""
    whole = full_description(rule, skill)
    if state is None:
        state = ListingState.FULL if shown == whole else ListingState.CUT
    line = "" if state == ListingState.LEFT_OUT else rule.format_line(skill, shown)
    whole_line = rule.format_line(skill, _cut_description(rule, skill))
    return ListingEntry(
        id=skill.id,
        state=state,
        needs=rule.measure(whole_line),
        takes=rule.measure(line) if line else 0,
        whole=whole_line,
        line=line,
        description_characters=len(whole),
        shown_characters=len(shown) if line else 0,
    )


# How a client makes its skills fit: without a budget, by dropping whole descriptions, by cutting
# all of them, or by stopping at the first that has no room.


def list_everything(
    rule: ClientListing, skills: Sequence[ListedSkill], budget: int, own: int
) -> list[ListingEntry]:
    """Every skill in full, whatever the budget."""
    return [_make_entry(rule, skill, _cut_description(rule, skill)) for skill in skills]


def drop_least_used(
    rule: ClientListing, skills: Sequence[ListedSkill], budget: int, own: int
) -> list[ListingEntry]:
    """All names; descriptions of the most used skills first, each whole where it still fits."""
    entries = {
        skill.id: _make_entry(rule, skill, "", ListingState.NAMED)
        if skill.is_named_only
        else _make_entry(rule, skill, _cut_description(rule, skill))
        for skill in skills
    }
    if own + sum(entry.takes for entry in entries.values()) <= budget:
        return list(entries.values())
    names = {skill.id: _make_entry(rule, skill, "", ListingState.DROPPED) for skill in skills}
    room = budget - own - sum(entry.takes for entry in names.values())
    for skill in sorted(skills, key=lambda skill: -skill.uses):
        entry = entries[skill.id]
        extra = entry.takes - names[skill.id].takes
        if entry.state == ListingState.NAMED:
            continue
        if extra <= room:
            room -= extra
        elif full_description(rule, skill):
            entries[skill.id] = names[skill.id]
    return list(entries.values())


def cut_all_evenly(
    rule: ClientListing, skills: Sequence[ListedSkill], budget: int, own: int
) -> list[ListingEntry]:
    """Every description cut, one character at a time for each in turn, so that none takes more
    than its part. Where the names alone have no room, no description, and the last skills are left
    out.
    """
    entries = list_everything(rule, skills, budget, own)
    if own + sum(entry.takes for entry in entries) <= budget:
        return entries
    own_skills = [
        ListedSkill(id="", name=name, description="x" * length, short_path=f"r0/{name}/SKILL.md")
        for name, length in rule.own_descriptions.items()
        if own
    ]
    everything = [*own_skills, *skills]
    least = [rule.measure(rule.format_line(skill, "")) for skill in everything]
    if sum(least) > budget:
        return _leave_out_last(rule, everything, least, budget)[len(own_skills) :]
    lengths = _share_characters(rule, everything, least, budget - sum(least))
    return [
        _make_entry(rule, skill, _cut_description(rule, skill)[:length], _cut_state(skill, length))
        for skill, length in zip(everything, lengths, strict=True)
    ][len(own_skills) :]


def _cut_state(skill: ListedSkill, length: int) -> ListingState | None:
    return ListingState.DROPPED if skill.description and not length else None


def _leave_out_last(
    rule: ClientListing, skills: Sequence[ListedSkill], least: Sequence[int], room: int
) -> list[ListingEntry]:
    entries = []
    for skill, cost in zip(skills, least, strict=True):
        fits = cost <= room
        room -= cost if fits else 0
        state = ListingState.DROPPED if fits else ListingState.LEFT_OUT
        entries.append(_make_entry(rule, skill, "", state))
    return entries


def _share_characters(
    rule: ClientListing, skills: Sequence[ListedSkill], least: Sequence[int], room: int
) -> list[int]:
    """How many characters of each description fit into the room beyond the least lines."""
    texts = [_cut_description(rule, skill) for skill in skills]
    lengths, costs = [0] * len(skills), [0] * len(skills)
    waiting = [number for number, text in enumerate(texts) if text]
    while waiting:
        still_waiting = []
        for number in waiting:
            length = lengths[number] + 1
            line = rule.format_line(skills[number], texts[number][:length])
            extra = rule.measure(line) - least[number] - costs[number]
            if extra > room:
                continue
            lengths[number], costs[number] = length, costs[number] + extra
            room -= extra
            if length < len(texts[number]):
                still_waiting.append(number)
        waiting = still_waiting
    return lengths


def stop_at_first(
    rule: ClientListing, skills: Sequence[ListedSkill], budget: int, own: int
) -> list[ListingEntry]:
    """Skills in full, up to the first that does not fit; that one and all later ones are left out."""
    room, entries = budget - own, []
    for skill in skills:
        entry = _make_entry(rule, skill, _cut_description(rule, skill))
        if entry.takes > room:
            room = -1
            entry = _make_entry(rule, skill, "", ListingState.LEFT_OUT)
        else:
            room -= entry.takes
        entries.append(entry)
    return entries


# The budget of a client, and its list.


def listing_budget(rule: ClientListing, settings: ListingSettings) -> int | None:
    """The budget of this client's list in its unit; None where it has none."""
    if settings.budget is not None:
        return settings.budget
    if rule.share is None:
        return rule.budget
    window = settings.window or rule.window
    share = settings.share or rule.share
    return max(1, math.floor(rule.units_of(window) * share + 1e-9))


def needed_share(rule: ClientListing, listing: Listing, settings: ListingSettings) -> float:
    """The smallest share of the window, in whole percent, that holds everything."""
    window = settings.window or rule.window
    whole = listing.own + listing.needs
    return math.ceil(100 * whole / rule.units_of(window)) / 100


def list_skills(
    rule: ClientListing, skills: Sequence[ListedSkill], settings: ListingSettings
) -> Listing:
    """The list that a client makes of these skills, which are in its order but for use."""
    if settings.max_description is not None and rule.max_description is not None:
        rule = replace(rule, max_description=settings.max_description)
    budget = listing_budget(rule, settings)
    own = rule.own if settings.has_own_skills and budget is not None else 0
    fit = rule.fit if budget is not None or rule.fit is list_everything else list_everything
    entries = fit(rule, _choose_listed(rule, skills, settings), budget or 0, own)
    return Listing(
        client=rule.name,
        unit=rule.unit,
        budget=budget,
        own=own,
        needs=sum(entry.needs for entry in entries if entry.state != ListingState.NAMED),
        takes=sum(entry.takes for entry in entries),
        entries=entries,
    )


def _choose_listed(
    rule: ClientListing, skills: Sequence[ListedSkill], settings: ListingSettings
) -> list[ListedSkill]:
    """The skills that the client lists, with what its user has set for each."""
    listed: list[ListedSkill] = []
    names: set[str] = set()
    for skill in skills:
        key = skill.folder if rule.names_by_folder and skill.folder else skill.name
        override = settings.overrides.get(key, settings.overrides.get(skill.path, "on"))
        is_repeated = key in names and not rule.lists_same_names
        if override in ("off", "user-invocable-only") or is_repeated:
            continue
        names.add(key)
        listed.append(
            replace(
                skill,
                name=_printed_name(skill, key),
                uses=settings.uses.get(key, 0.0),
                is_named_only=override == "name-only",
            )
        )
    return listed


def _printed_name(skill: ListedSkill, key: str) -> str:
    """The name in the list: with the one in its file behind it, where that is another word."""
    is_word = re.fullmatch(r"[\w:.-]+", skill.name) is not None
    return f"{key} ({skill.name})" if skill.name != key and is_word else key
