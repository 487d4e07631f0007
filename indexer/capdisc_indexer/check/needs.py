"""What capabilities need of each other: names that nobody has, and rings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.types import Finding, Severity


def needs_met(members: Sequence[Member]) -> Iterator[Finding]:
    """Names that nothing in this collection has, and capabilities that need themselves by way of others."""
    names: dict[str, str] = {}
    for each in members:
        for alias in (each.one.id, each.one.name, each.one.id.partition(":")[2]):
            names.setdefault(alias.casefold(), each.one.id)
    needs = {each.one.id: [names.get(need.casefold(), "") for need in each.one.requires] for each in members}
    rings = _rings(needs)
    for each in members:
        yield from _missing(each, names)
        if each.one.id in rings:
            hint = "break the ring; what merely goes together is composedWith"
            yield at(each, "dependency-cycle", Severity.WARNING, "requires itself, by way of others", hint, "requires")


def _missing(each: Member, names: Mapping[str, str]) -> Iterator[Finding]:
    for key, targets in (
        ("requires", each.one.requires),
        ("composedWith", each.one.composed_with),
        ("related", each.one.related),
        ("edges", [edge.target for edge in each.one.edges]),
    ):
        for target in targets:
            if target.casefold() not in names:
                message = f"{key} names {target[:64]}, which is not in this collection"
                yield at(each, "dependency-missing", Severity.WARNING, message, "correct the name", key)


def _rings(needs: Mapping[str, Sequence[str]]) -> set[str]:
    """The capabilities that stand in a ring of needs: what is left when all that need nothing open are taken away."""
    wanted = Counter(need for each in needs.values() for need in each if need in needs)
    free = [each for each in needs if not wanted[each]]
    left = set(needs)
    while free:
        done = free.pop()
        left.discard(done)
        for need in needs[done]:
            if need in needs:
                wanted[need] -= 1
                if not wanted[need]:
                    free.append(need)
    return {each for each in left if _reaches(each, each, needs, left)}


def _reaches(start: str, target: str, needs: Mapping[str, Sequence[str]], among: set[str]) -> bool:
    seen: set[str] = set()
    pending = [need for need in needs[start] if need in among]
    while pending:
        each = pending.pop()
        if each == target:
            return True
        if each not in seen:
            seen.add(each)
            pending += [need for need in needs[each] if need in among]
    return False
