"""Whether there is anything to publish."""

from __future__ import annotations

from capdisc_indexer.choice import Chosen
from capdisc_indexer.previous import Previous
from capdisc_indexer.reconcile import Changes
from capdisc_indexer.state import FileState
from capdisc_indexer.task import Task


def is_unchanged(task: Task, last: Previous, changes: Changes, chosen: Chosen) -> bool:
    """Whether a build would give the very generation that is published."""
    if last.generation is None or last.roots != task.names or last.generation.fingerprint != chosen.fingerprint:
        return False
    now, known = changes.files, last.files
    if changes.descriptors or now.keys() != known.keys() or changes.guidance != last.guidance:
        return False
    return all(one is known[path] or _telling(one) == _telling(known[path]) for path, one in now.items())


def _telling(one: FileState) -> tuple[object, ...]:
    """What makes another generation of a file's state; its stamps do not."""
    return one.content_hash, one.root, one.findings
