"""One capability of a collection that is checked as a whole."""

from __future__ import annotations

from capdisc_indexer.frozen import frozen
from capdisc_indexer.sources.parts import Part
from capdisc_indexer.types import Descriptor, Finding, Severity


@frozen(kw_only=True)
class Member:
    """One capability with its file; `root_order` says whose comes first."""

    one: Descriptor
    part: Part
    path: str
    root_order: int


def at(member: Member, code: str, severity: Severity, message: str, hint: str, key: str = "name") -> Finding:
    """A finding at one of the capability's keys."""
    entries = member.part.node.entries
    place = entries.get(key) or entries.get("id") or member.part.node
    return Finding(
        code=code, severity=severity, message=message, hint=hint, path=member.path, line=place.line, column=place.column
    )
