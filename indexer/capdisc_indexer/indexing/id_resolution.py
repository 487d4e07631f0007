"""Which capability owns an id: the one of an earlier root, and inside a root the one of the file
whose path comes first.

Collections of skills use the same name in several folders, so the later skill of a root stays in
the index, under an id qualified by its folder. A manifest declares its id, so a second one is a
mistake, or an attempt to be taken for the first: it is left out. So is an id that only its letters
of another script tell from an id of the catalogue.

Of identical copies of a skill in one root, the one whose folder has the skill's name stands for
all: clients know a skill by its folder.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from capdisc_indexer.model.errors import require_narrow_change
from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.formats.naming_rules import (
    ClaimOutcome,
    IdClaim,
    fold_id,
    judge_claim,
    plain_look,
)
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store.file_states import HELD, DeclaredId, FileState
from capdisc_indexer.text.normalization import one_line

if TYPE_CHECKING:
    from capdisc_indexer.store.state_database import StateDatabase

# The status of a capability whose id passes for that of another one.
POSING = "posing"


def resolve_changed_ids(
    states: Mapping[str, FileState], removed: Sequence[FileState], last: StateDatabase
) -> Mapping[str, FileState]:
    """The states of changed files with final ids, given the last states of files that are gone.

    Who owns an id depends on the ids, on the places of files, and on which files are copies of
    each other. So nothing changes for other files under three conditions: no file of the change
    has or had the content of another one; a file that is gone, or declares other ids than before,
    was the only one that declared its old ids; and no other file declares a new one. A file that
    declares the same ids as before keeps what became of them.

    Raises WiderChangeError where an id of another file may have another owner now.
    """
    before = {path: last[path] for path in states if path in last}
    changed = {
        path: state
        for path, state in states.items()
        if path not in before or before[path]._replace(stat=state.stat) != state
    }
    before = {path: before[path] for path in changed if path in before}
    old_states = [*before.values(), *removed]
    _require_no_copies(old_states, last, {state.path for state in old_states})
    _require_no_copies([*changed.values()], last, {*changed, *(state.path for state in removed)})
    resolved: dict[str, FileState] = {}
    released, claiming = [*removed], []
    for path, state in changed.items():
        old_state = before.get(path)
        if old_state and _declared_names([old_state]) == _declared_names([state]):
            resolved[path] = state.with_declared_ids(map(_as_before, old_state.declared_ids))
        else:
            claiming.append(state)
            released += [old_state] if old_state else []
    for old_state in released:
        _require_sole_owner(old_state, last)
    if claiming:
        _require_new_ids(_declared_names(claiming), set(last.ids()) - {*_declared_names(released)})
    for state in claiming:
        resolved[state.path] = state.with_declared_ids(
            declared._replace(resolved_id=declared.id) for declared in state.declared_ids
        )
    return {path: resolved.get(path, state) for path, state in states.items()}


def _require_no_copies(
    states: Sequence[FileState], last: StateDatabase, paths: Collection[str]
) -> None:
    hashes = {state.content_hash for state in states}
    is_single = len(hashes) == len(states)
    require_narrow_change(
        is_single and not any(last.has_other_file(key, paths) for key in hashes),
        "a changed file is or was a copy of another one",
    )


def _declared_names(states: Iterable[FileState]) -> list[str]:
    return [declared.id for state in states for declared in state.declared_ids]


def _as_before(old: DeclaredId) -> DeclaredId:
    require_narrow_change(old.status != HELD, "a definition in a changed file was held back")
    return DeclaredId(old.id, old.resolved_id, old.status, old.other_path)


def _require_sole_owner(old_state: FileState, last: StateDatabase) -> None:
    is_sole = not last.is_owner(old_state.path) and all(
        (declared.status, declared.other_path) == ("indexed", "")
        and declared.resolved_id == declared.id
        and "@" not in declared.id
        for declared in old_state.declared_ids
    )
    require_narrow_change(is_sole, f"another file declares an id of {old_state.path}, too")


def _require_new_ids(names: Sequence[str], others: Set[str]) -> None:
    """Raises WiderChangeError unless these ids differ from each other and resemble no other id.
    Ids with "@" are those that a second owner gets.
    """
    keys = set(map(fold_id, names))
    looks = {plain_look(other) for other in others if not other.isascii()}
    require_narrow_change(
        len(keys) == len(names)
        and all(name.isascii() and "@" not in name for name in names)
        and keys.isdisjoint(map(fold_id, others))
        and keys.isdisjoint(looks),
        "a changed file declares an id that another one has, or one that is easily taken for it",
    )


class _Owner(NamedTuple):
    """The file that an id belongs to, and what that file declares under it."""

    state: FileState
    declared: DeclaredId
    format: str


def resolve_ids(
    states: Mapping[str, FileState],
    order: Sequence[FoundFile],
    previous_states: Mapping[str, FileState],
) -> Mapping[str, FileState]:
    """The states with a final id for each declared id, or the reason why it has none; earlier
    files of `order` win.

    Where the states are those of the last build, every id keeps its owner.
    """
    if _are_same_states(states, previous_states):
        return states
    owners: dict[str, _Owner] = {}
    imitated = _imitated_ids(states)
    resolved_states = dict(states)
    for file in _prefer_named_folders(order, states):
        state = states[file.path]
        resolved_states[file.path] = state.with_declared_ids(
            [
                _resolve_id(declared, state, file, owners, imitated)
                for declared in state.declared_ids
            ]
        )
    return resolved_states


def _imitated_ids(states: Mapping[str, FileState]) -> Mapping[str, str]:
    """The path behind each id that another id imitates, by the folded id."""
    looks = {
        look
        for state in states.values()
        for declared in state.declared_ids
        if not declared.id.isascii() and (look := plain_look(declared.id)) != fold_id(declared.id)
    }
    if not looks:
        return {}
    return {
        key: state.path
        for state in states.values()
        for declared in state.declared_ids
        if (key := fold_id(declared.id)) in looks
    }


def _prefer_named_folders(
    order: Sequence[FoundFile], states: Mapping[str, FileState]
) -> Sequence[FoundFile]:
    """The files in order, but of identical skills in one root, one in a folder with the skill's
    name takes the place of the first.
    """
    files = list(order)
    first_positions: dict[tuple[str, str], int] = {}
    for position, file in enumerate(order):
        state = states[file.path]
        first = first_positions.setdefault((state.root, state.content_hash), position)
        if first == position or file.format != "skill" or not _is_in_own_folder(file, state):
            continue
        if files[first].format == "skill" and not _is_in_own_folder(files[first], state):
            files[first], files[position] = file, files[first]
    return files


def _is_in_own_folder(file: FoundFile, state: FileState) -> bool:
    folder = fold_id(PurePosixPath(file.relative).parent.name)
    return any(fold_id(declared.id).partition(":")[2] == folder for declared in state.declared_ids)


def find_collisions(files: Mapping[str, FileState]) -> list[Finding]:
    """A finding for every capability whose id belongs to another: shadowed by an earlier root,
    left out, or indexed under a longer id.
    """
    return [
        finding
        for state in files.values()
        for declared in state.declared_ids
        if (finding := _find_collision(state, declared))
    ]


def _are_same_states(
    states: Mapping[str, FileState], previous_states: Mapping[str, FileState]
) -> bool:
    """Whether these are the very state objects of the last build, in their order."""
    return len(states) == len(previous_states) and all(
        map(operator.is_, states.values(), previous_states.values())
    )


def _resolve_id(
    declared: DeclaredId,
    state: FileState,
    file: FoundFile,
    owners: dict[str, _Owner],
    imitated: Mapping[str, str],
) -> DeclaredId:
    key = fold_id(declared.id)
    look = plain_look(declared.id) if imitated else key
    if look != key and look in imitated:
        return _with_resolution(declared, "", POSING, imitated[look])
    if declared.status == HELD:  # nothing else takes its id meanwhile
        owners.setdefault(key, _Owner(state, declared, file.format))
        return declared
    owner = owners.get(key)
    if owner is None:
        resolved = _with_resolution(declared, declared.id, "indexed")
    else:
        outcome = judge_claim(_claim(owner.state, owner.format), _claim(state, file.format))
        if outcome is not ClaimOutcome.QUALIFIED:
            return _with_resolution(declared, "", outcome.value, owner.state.path)
        qualified_id = _qualify_id(declared.id, file.relative, owners)
        resolved = _with_resolution(declared, qualified_id, "indexed", owner.state.path)
    owners[fold_id(resolved.resolved_id)] = _Owner(state, resolved, file.format)
    return resolved


def _claim(state: FileState, source_format: str) -> IdClaim:
    return IdClaim(state.path, state.content_hash, state.root, source_format == "capability")


def _with_resolution(
    declared: DeclaredId, resolved_id: str, status: str, other_path: str = ""
) -> DeclaredId:
    if (declared.resolved_id, declared.status, declared.other_path) == (
        resolved_id,
        status,
        other_path,
    ):
        return declared  # as nearly all are in a run that finds few changes
    if not resolved_id:  # what the index held of it before is not part of the next generation
        return DeclaredId(declared.id, "", status, other_path)
    return declared._replace(resolved_id=resolved_id, status=status, other_path=other_path)


def _qualify_id(identifier: str, relative: str, owners: Mapping[str, object]) -> str:
    """The id with the folder of its file, numbered where that is taken as well."""
    folder = PurePosixPath(relative).parent
    location = one_line(
        str(folder.parent if folder.name == identifier.partition(":")[2] else folder)
    )
    candidate = f"{identifier}@{location}" if location != "." else f"{identifier}@2"
    number = 2
    while fold_id(candidate) in owners:
        number += 1
        candidate = f"{identifier}@{location}#{number}"
    return candidate


def _find_collision(state: FileState, declared: DeclaredId) -> Finding | None:
    taken = f"{declared.id} is already defined by {declared.other_path}"
    if declared.status == "shadowed":
        hint = "rename or remove one of them"
        if declared.other_path.lower().endswith(("capability.yaml", "capability.yml")):
            hint += f"; a manifest that adds to it says overlay: {declared.id} instead of id"
        return _make_finding("shadowed-id", state, taken, hint)
    if declared.status == "duplicate":
        message = f"{taken}; this one is left out"
        return _make_finding("duplicate-id", state, message, "rename one of them", Severity.ERROR)
    if declared.status == POSING:
        message = f"{declared.id} is easily taken for {plain_look(declared.id)} of {declared.other_path}; it is left out"
        hint = "choose a name that differs more"
        return _make_finding("confusable-name", state, message, hint, Severity.ERROR)
    if declared.other_path and declared.status == "indexed":
        message = f"{declared.id} is also defined by {declared.other_path}"
        hint = f"this one is indexed as {declared.resolved_id}"
        return _make_finding("duplicate-id", state, message, hint)
    return None


def _make_finding(
    code: str, state: FileState, message: str, hint: str, severity: Severity = Severity.WARNING
) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=state.path)
