"""What a build did, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Changes
from capdisc_indexer.sources.links import inside
from capdisc_indexer.state import finals
from capdisc_indexer.types import DeclaredSource, Finding, Severity


def counts(last: Previous, changes: Changes) -> dict[str, int]:
    """What happened, in numbers: of files, then of capabilities."""
    states = Counter(claim.status for one in changes.files.values() for claim in one.claims)
    before, now = finals(last.files), finals(changes.files)
    failed = sum(1 for one in changes.files.values() if not one.claims and _has_error(one.findings))
    return {
        "files": len(changes.files),
        "parsed": changes.parsed,
        "failed": failed,
        "unchanged": len(changes.files) - changes.parsed,
        "removed_files": len(last.files.keys() - changes.files.keys()),
        "capabilities": len(now),
        "added": len(now.keys() - before.keys()),
        "removed": len(before.keys() - now.keys()),
        "updated": sum(1 for key in changes.descriptors if key in before),
        "copies": states["copy"],
        "shadowed": states["shadowed"],
    }


def dropped_sources(last: Previous, changes: Changes, sources: Iterable[DeclaredSource]) -> tuple[str, ...]:
    """The files that a declaration brought in before, and that were left out for lying outside of what is named."""
    named = {place for one in sources for place in one.within}
    gone = (path for path, one in last.files.items() if one.read_as and path not in changes.files)
    return tuple(path for path in gone if named and not inside(path, named))


def _has_error(findings: Iterable[Finding]) -> bool:
    """A list that is empty has not failed."""
    return any(finding.severity is Severity.ERROR for finding in findings)
