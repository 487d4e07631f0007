"""What capabilities need of each other: names that nobody has, and rings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capdisc_indexer.check.members import Member, at
from capdisc_indexer.types import Finding, Severity


def needs_met(members: Sequence[Member]) -> Iterator[Finding]:
    """Names that nothing in this collection has, and the first of each ring of capabilities that need one another."""
    ids = _ids_of_targets(members)
    for member in members:
        yield from _missing(member, ids)
    by_id = {member.id: member for member in members}
    needs = {
        member.id: [ids.get(target.casefold(), "") for target in member.requires]
        for member in by_id.values()
        if member.requires
    }
    for ring in rings(needs):
        message = f"requires itself, by way of {', '.join(ring[1:4])}" if ring[1:] else "requires itself"
        hint = "break the ring; what merely goes together is composedWith"
        first = by_id[ring[0]]
        yield at(first, "dependency-cycle", Severity.WARNING, message, hint, first.needs[0])


def _ids_of_targets(members: Sequence[Member]) -> dict[str, str]:
    """The id behind each name that some capability gives as a target, by the name in one case; of those that nothing
    has, none. Only these names are kept: three for each capability of a large collection take 40 MB."""
    targets = {target.casefold() for member in members for need in member.needs for target in need.targets}
    ids: dict[str, str] = {}
    for member in members if targets else ():
        for alias in (member.id, member.name, member.id.partition(":")[2]):
            if (name := alias.casefold()) in targets:
                ids.setdefault(name, member.id)
    return ids


def _missing(member: Member, ids: Mapping[str, str]) -> Iterator[Finding]:
    for need in member.needs:
        for target in need.targets:
            if target.casefold() not in ids:
                message = f"{need.key} names {target[:64]}, which is not in this collection"
                yield at(member, "dependency-missing", Severity.WARNING, message, "correct the name", need)


def rings(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The groups in which each reaches each of the others, in time linear in the needs (Kosaraju's way).

    >>> rings({"a": ["b"], "b": ["a", "c"], "c": [], "d": ["d"], "e": ["a"]})
    [['a', 'b'], ['d']]
    """
    back: dict[str, list[str]] = {key: [] for key in needs}
    for key, wanted in needs.items():
        for need in wanted:
            if need in back:
                back[need].append(key)
    found, done = [], set[str]()
    for start in reversed(_finished(needs)):
        if start not in done:
            group = _reached(start, back, done)
            if len(group) > 1 or start in needs[start]:
                found.append(sorted(group))
    return sorted(found)


def _finished(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Every name after all that it needs, as far as rings allow; without recursion, as chains may be long."""
    order, seen = [], set[str]()
    for start in needs:
        pending = [(start, iter(needs[start]))] if start not in seen else []
        seen.add(start)
        while pending:
            need = next((each for each in pending[-1][1] if each in needs and each not in seen), None)
            if need is None:
                order.append(pending.pop()[0])
            else:
                seen.add(need)
                pending.append((need, iter(needs[need])))
    return order


def _reached(start: str, edges: Mapping[str, Sequence[str]], done: set[str]) -> list[str]:
    group, pending = [], [start]
    done.add(start)
    while pending:
        key = pending.pop()
        group.append(key)
        fresh = [each for each in edges[key] if each not in done]
        done.update(fresh)
        pending += fresh
    return group
