"""What a build did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from capdisc_indexer.check.keyless import keyless
from capdisc_indexer.check.sourcetext import SourceText
from capdisc_indexer.choice import Chosen
from capdisc_indexer.declarations import fixed_part
from capdisc_indexer.ownership import collisions
from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Changes
from capdisc_indexer.sources.links import inside
from capdisc_indexer.state import HELD, finals
from capdisc_indexer.task import Task
from capdisc_indexer.types import BuildReport, DeclaredSource, Finding, Generation, Severity


def report(
    task: Task, last: Previous, changes: Changes, chosen: Chosen, published: Generation, embedded: int
) -> BuildReport:
    """The report of a build that ended with the generation `published`, which may be the last one."""
    return BuildReport(
        generation=published,
        published=published is not last.generation,
        counts=_counts(last, changes) | {"embedded": embedded},
        findings=_findings(task, changes),
        degraded=(*last.notices, *chosen.notices, *changes.notices),
        roots=task.names,
        dropped_roots=tuple(root for root in last.roots if root not in task.names),
        held_definitions=changes.held_definitions,
        changed_definitions=changes.changed_definitions,
        dropped_sources=_dropped_sources(last, changes, task.options.sources),
    )


def _findings(task: Task, changes: Changes) -> tuple[Finding, ...]:
    of_files = [finding for one in changes.files.values() for finding in one.findings]
    places = (*task.names, *(fixed_part(one.path)[0] for one in task.options.sources))
    return keyless((*changes.findings, *of_files, *collisions(changes.files)), SourceText(places))


def _counts(last: Previous, changes: Changes) -> dict[str, int]:
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
        "held": states[HELD],
    }


def _dropped_sources(last: Previous, changes: Changes, sources: Iterable[DeclaredSource]) -> tuple[str, ...]:
    """The files that a declaration brought in before, and that were left out for lying outside of what is named."""
    named = {place for one in sources for place in one.within}
    gone = (path for path, one in last.files.items() if one.read_as and path not in changes.files)
    return tuple(path for path in gone if named and not inside(path, named))


def _has_error(findings: Iterable[Finding]) -> bool:
    """A list that is empty has not failed."""
    return any(finding.severity is Severity.ERROR for finding in findings)
