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
        owner = owners.setdefault(each.one.id.casefold(), each)
        if owner is not each and not _is_copy(owner, each):
            yield _collision(owner, each)
        namesake = names.setdefault(each.one.name.casefold(), each)
        if namesake.one.kind != each.one.kind and namesake.root_order == each.root_order:
            message = f"{namesake.one.id} of {namesake.path} has the same name"
            yield at(each, "name-clash", Severity.INFO, message, "call for each by its id")


def _is_copy(owner: Member, each: Member) -> bool:
    return owner.one.source.content_hash == each.one.source.content_hash and owner.path != each.path


def _collision(owner: Member, each: Member) -> Finding:
    what = "is" if owner.one.id == each.one.id else f"and {owner.one.id}, but for capital letters, are"
    message, hint = f"{each.one.id} {what} already defined by {owner.path}", "rename one of them"
    if owner.root_order != each.root_order:
        return at(each, "shadowed-id", Severity.WARNING, message, f"{hint}, or remove the one that is not wanted")
    is_declared = each.one.source.format == "capability"
    return at(each, "duplicate-id", Severity.ERROR if is_declared else Severity.WARNING, message, hint)
