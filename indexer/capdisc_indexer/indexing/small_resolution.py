"""Which ids do the files of a small change have, where all other files keep theirs?

Who owns an id depends on the ids, on the places of files, and on which files are copies of each
other (`id_resolution`). So nothing changes for other files under three conditions: no file of the
change has or had the content of another one; a file that is gone, or declares other ids than
before, was the only one that declared its old ids; and no other file declares a new one. A file
that declares the same ids as before keeps what became of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.changed_tree import WiderChangeError, require
from capdisc_indexer.indexing.file_reader import is_stale, must_read_again
from capdisc_indexer.indexing.previous_build import PreviousBuild
from capdisc_indexer.model.types import Severity
from capdisc_indexer.sources.formats.naming_rules import fold_id, plain_look
from capdisc_indexer.store.column_writer import read_ids
from capdisc_indexer.store.file_states import HELD, DeclaredId, FileState, StateLines


def resolve_small_change(
    states: Sequence[FileState], removed: StatesByPath, previous: PreviousBuild, lines: StateLines
) -> StatesByPath:
    """The states of the parsed files with final ids, given the last states of files that are gone.

    Raises WiderChangeError where an id of another file may have another owner now.
    """
    changed = {
        state.path: previous.files[state.path] for state in states if state.path in previous.files
    }
    old_states = [*changed.values(), *removed.values()]
    require(all(map(_has_no_error, (*old_states, *states))))
    _require_no_copies(old_states, lines, ())
    _require_no_copies(states, lines, [state.path for state in old_states])
    resolved: dict[str, FileState] = {}
    released, claiming = list(removed.values()), []
    for state in states:
        old_state = changed.get(state.path)
        if old_state and _declared_names(state) == _declared_names(old_state):
            resolved[state.path] = _resolve_as_before(state, old_state)
        else:
            claiming.append(state)
            released += [old_state] if old_state else []
    for old_state in released:
        _require_sole_owner(old_state, lines)
    if claiming:
        _require_new_ids(_all_names(claiming), _published_ids(previous), _all_names(released))
    resolved |= {state.path: _own_all_ids(state) for state in claiming}
    return {state.path: resolved[state.path] for state in states}


def _has_no_error(state: FileState) -> bool:
    return not (
        state.read_as
        or must_read_again(state)
        or is_stale(state)
        or any(finding.severity is Severity.ERROR for finding in state.findings)
    )


def _require_no_copies(
    states: Sequence[FileState], lines: StateLines, without: Collection[str]
) -> None:
    """Raises WiderChangeError where two of these files have one content, or one has that of
    another file, of those without these paths.
    """
    hashes = {state.content_hash: state.path for state in states}
    require(len(hashes) == len(states))
    for content_hash, path in hashes.items():
        require(not lines.is_named_elsewhere(content_hash, [path, *without]))


def _declared_names(state: FileState) -> list[str]:
    return [declared.id for declared in state.declared_ids]


def _all_names(states: Iterable[FileState]) -> list[str]:
    return [name for state in states for name in _declared_names(state)]


def _resolve_as_before(state: FileState, old_state: FileState) -> FileState:
    require(all(declared.status != HELD for declared in old_state.declared_ids))
    return state.with_declared_ids(
        DeclaredId(old.id, old.resolved_id, old.status, old.other_path)
        for old in old_state.declared_ids
    )


def _own_all_ids(state: FileState) -> FileState:
    return state.with_declared_ids(
        declared._replace(resolved_id=declared.id) for declared in state.declared_ids
    )


def _require_sole_owner(old_state: FileState, lines: StateLines) -> None:
    """Raises WiderChangeError unless the file owned its ids, and no other one declares them."""
    for declared in old_state.declared_ids:
        require((declared.status, declared.other_path) == ("indexed", ""))
        require(declared.resolved_id == declared.id and "@" not in declared.id)
    require(not lines.is_named_elsewhere(old_state.path, [old_state.path]))


def _require_new_ids(
    names: Sequence[str], published_ids: Sequence[str], released: Sequence[str]
) -> None:
    """Raises WiderChangeError unless these ids are different ones that nobody else has, and none
    could pass for another one. Ids with "@" are those that a second owner gets.
    """
    keys = set(map(fold_id, names))
    require(len(keys) == len(names))
    require(all(name.isascii() and "@" not in name for name in names))
    others = set(published_ids).difference(released)
    require(keys.isdisjoint(map(fold_id, others)))
    require(keys.isdisjoint(plain_look(other) for other in others if not other.isascii()))


def _published_ids(previous: PreviousBuild) -> Sequence[str]:
    """All ids of the last generation."""
    if previous.folder is None:
        raise WiderChangeError
    return read_ids((previous.folder / "meta" / "columns.json").read_bytes())
