"""Who owns an id: earlier roots win over later ones, and inside one root the file whose path comes first.

Collections of skills use the same name in several folders, so there the later one stays, qualified by its folder. A
manifest declares its id, so that a second one is a mistake, or an attempt to be taken for the first: it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from capdisc_indexer.sources.files import FoundFile
from capdisc_indexer.state import HELD, Claim, FileState
from capdisc_indexer.text import one_line
from capdisc_indexer.types import Finding, Severity


def assign(files: dict[str, FileState], order: Sequence[FoundFile]) -> None:
    """Give every claim its final id, or the reason why it has none, in the order of the scan."""
    owners: dict[str, tuple[FileState, Claim]] = {}
    for file in order:
        state = files[file.path]
        files[file.path] = state.with_claims([_decide(claim, state, file, owners) for claim in state.claims])


def _decide(claim: Claim, state: FileState, file: FoundFile, owners: dict[str, tuple[FileState, Claim]]) -> Claim:
    owner = owners.get(claim.id)
    if claim.status == HELD:  # and nothing else takes its name meanwhile
        owners.setdefault(claim.id, (state, claim))
        owners.setdefault(_folded(claim.id), (state, claim))
        return claim
    if owner is None and file.format == "capability":
        owner = owners.get(_folded(claim.id))
    if owner is None:
        final = _decided(claim, claim.id, "indexed")
    elif owner[0].content_hash == state.content_hash and owner[0].path != state.path:
        return _decided(claim, "", "copy", owner[0].path)
    elif owner[0].root != state.root:
        return _decided(claim, "", "shadowed", owner[0].path)
    elif file.format == "capability":
        return _decided(claim, "", "duplicate", owner[0].path)
    else:
        final = _decided(claim, _qualified(claim.id, file.relative, owners), "indexed", owner[0].path)
    owners[final.final] = (state, final)
    owners.setdefault(_folded(claim.id), (state, final))
    return final


def _decided(claim: Claim, final: str, status: str, other: str = "") -> Claim:
    if claim.final == final and claim.status == status and claim.other == other:
        return claim  # as nearly every one is in a run that finds little new
    return claim._replace(final=final, status=status, other=other)


def _folded(identifier: str) -> str:
    """The id for comparing without case; no id itself begins so."""
    return f"\0{identifier.casefold()}"


def _qualified(identifier: str, relative: str, owners: Mapping[str, object]) -> str:
    folder = PurePosixPath(relative).parent
    where = one_line(str(folder.parent if folder.name == identifier.partition(":")[2] else folder))
    candidate = f"{identifier}@{where}" if where != "." else f"{identifier}@2"
    number = 2
    while candidate in owners:
        number += 1
        candidate = f"{identifier}@{where}#{number}"
    return candidate


def collisions(files: Mapping[str, FileState]) -> list[Finding]:
    """A finding for every capability whose id was taken: shadowed by an earlier root, left out, or kept under a longer
    id."""
    return [found for state in files.values() for claim in state.claims if (found := _collision(state, claim))]


def _collision(state: FileState, claim: Claim) -> Finding | None:
    already = f"{claim.id} is already defined by {claim.other}"
    if claim.status == "shadowed":
        return _finding("shadowed-id", state, already, "rename one of them, or remove the one that is not wanted")
    if claim.status == "duplicate":
        message = f"{already}; this one is left out"
        return _finding("duplicate-id", state, message, "rename one of them", Severity.ERROR)
    if claim.other and claim.status == "indexed":
        message = f"{claim.id} is also defined by {claim.other}"
        return _finding("duplicate-id", state, message, f"this one is indexed as {claim.final}")
    return None


def _finding(code: str, state: FileState, message: str, hint: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(code=code, severity=severity, message=message, hint=hint, path=state.path)
