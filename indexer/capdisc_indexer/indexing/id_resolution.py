"""Who owns an id: earlier roots win over later ones, and inside one root the file whose path comes
first.

Collections of skills use the same name in several folders, so there the later one stays, qualified
by its folder. A manifest declares its id, so that a second one is a mistake, or an attempt to be
taken for the first: it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from capdisc_indexer.model.types import Finding, Severity
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store.file_states import HELD, DeclaredId, FileState
from capdisc_indexer.text.normalization import one_line


def resolve_ids(files: dict[str, FileState], order: Sequence[FoundFile]) -> None:
    """Give every claim its final id, or the reason why it has none, in the order of the scan."""
    owners: dict[str, tuple[FileState, DeclaredId]] = {}
    for file in order:
        state = files[file.path]
        files[file.path] = state.with_declared_ids(
            [_resolve_id(declared_id, state, file, owners) for declared_id in state.declared_ids]
        )


def _resolve_id(
    declared_id: DeclaredId,
    state: FileState,
    file: FoundFile,
    owners: dict[str, tuple[FileState, DeclaredId]],
) -> DeclaredId:
    owner = owners.get(declared_id.id)
    if declared_id.status == HELD:  # and nothing else takes its name meanwhile
        owners.setdefault(declared_id.id, (state, declared_id))
        owners.setdefault(_fold_case(declared_id.id), (state, declared_id))
        return declared_id
    if owner is None and file.format == "capability":
        owner = owners.get(_fold_case(declared_id.id))
    if owner is None:
        resolved = _with_resolution(declared_id, declared_id.id, "indexed")
    elif owner[0].content_hash == state.content_hash and owner[0].path != state.path:
        return _with_resolution(declared_id, "", "copy", owner[0].path)
    elif owner[0].root != state.root:
        return _with_resolution(declared_id, "", "shadowed", owner[0].path)
    elif file.format == "capability":
        return _with_resolution(declared_id, "", "duplicate", owner[0].path)
    else:
        resolved = _with_resolution(
            declared_id,
            _qualify_id(declared_id.id, file.relative, owners),
            "indexed",
            owner[0].path,
        )
    owners[resolved.resolved_id] = (state, resolved)
    owners.setdefault(_fold_case(declared_id.id), (state, resolved))
    return resolved


def _with_resolution(
    declared_id: DeclaredId, resolved_id: str, status: str, other_path: str = ""
) -> DeclaredId:
    if (
        declared_id.resolved_id == resolved_id
        and declared_id.status == status
        and declared_id.other_path == other_path
    ):
        return declared_id  # as nearly every one is in a run that finds little new
    return declared_id._replace(resolved_id=resolved_id, status=status, other_path=other_path)


def _fold_case(identifier: str) -> str:
    """The id for comparing without case; no id itself begins so."""
    return f"\0{identifier.casefold()}"


def _qualify_id(identifier: str, relative: str, owners: Mapping[str, object]) -> str:
    folder = PurePosixPath(relative).parent
    location = one_line(
        str(folder.parent if folder.name == identifier.partition(":")[2] else folder)
    )
    candidate = f"{identifier}@{location}" if location != "." else f"{identifier}@2"
    number = 2
    while candidate in owners:
        number += 1
        candidate = f"{identifier}@{location}#{number}"
    return candidate


def find_collisions(files: Mapping[str, FileState]) -> list[Finding]:
    """A finding for every capability whose id was taken: shadowed by an earlier root, left out, or
    kept under a longer id.
    """
    return [
        finding
        for state in files.values()
        for declared_id in state.declared_ids
        if (finding := _find_collision(state, declared_id))
    ]


def _find_collision(state: FileState, declared_id: DeclaredId) -> Finding | None:
    message_start = f"{declared_id.id} is already defined by {declared_id.other_path}"
    if declared_id.status == "shadowed":
        return _make_finding(
            "shadowed-id",
            state,
            message_start,
            "rename one of them, or remove the one that is not wanted",
        )
    if declared_id.status == "duplicate":
        message = f"{message_start}; this one is left out"
        return _make_finding("duplicate-id", state, message, "rename one of them", Severity.ERROR)
    if declared_id.other_path and declared_id.status == "indexed":
        message = f"{declared_id.id} is also defined by {declared_id.other_path}"
        return _make_finding(
            "duplicate-id", state, message, f"this one is indexed as {declared_id.resolved_id}"
        )
    return None


def _make_finding(
    code: str, state: FileState, message: str, hint: str, severity: Severity = Severity.WARNING
) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=state.path)
