"""Ids that are taken already: inside one root the later one is wrong, across roots the earlier one wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.types import Finding, Severity


def collisions(members: Sequence[Member]) -> Iterator[Finding]:
    """Every capability whose id, but for capital letters, an earlier one has; identical copies are none.

    Two skills of one name are a warning, as collections of skills have many and the index tells them apart by folder.
    """
    owners: dict[str, Member] = {}
    names: dict[str, Member] = {}
    for each in members:
        owner = owners.setdefault(each.id.casefold(), each)
        if owner is not each and not _is_copy(owner, each):
            yield _collision(owner, each)
        namesake = names.setdefault(each.name.casefold(), each)
        if namesake.kind != each.kind and namesake.root_order == each.root_order:
            message = f"{namesake.id} of {namesake.path} has the same name"
            yield at(each, "name-clash", Severity.INFO, message, "call for each by its id")


def _is_copy(owner: Member, each: Member) -> bool:
    return owner.content_hash == each.content_hash and owner.path != each.path


def _collision(owner: Member, each: Member) -> Finding:
    what = "is" if owner.id == each.id else f"and {owner.id}, but for capital letters, are"
    message, hint = f"{each.id} {what} already defined by {owner.path}", "rename one of them"
    if owner.root_order != each.root_order:
        return at(each, "shadowed-id", Severity.WARNING, message, f"{hint}, or remove the one that is not wanted")
    return at(each, "duplicate-id", Severity.ERROR if each.is_declared else Severity.WARNING, message, hint)
