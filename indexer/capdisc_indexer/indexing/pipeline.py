"""The index pipeline from the outside: compare the folders with the last build, and build what
changed.

Most builds find no change. To see that by a scan and the states of all files takes half a gigabyte
and seven seconds for 84,000 skills. The stamps next to the index tell the same
(`store.folder_stamps`), so the report of a build that finds no change lies there, too, with all
that it depends on. `build_stages.py` has the stages of every other build.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from capdisc_indexer.indexing.build_request import (
    BuildRequest,
    Progress,
    TreeComparison,
    TreeRecord,
    describe_request,
    describe_reranker,
    select_encoder,
)
from capdisc_indexer.indexing.previous_build import find_difference
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, CapdiscError
from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import BuildOptions, BuildReport
from capdisc_indexer.store import (
    durable_files,
    file_states,
    folder_stamps,
    generation,
    locks,
    publication,
)

# More paths than these are looked at by a scan of everything.
MAX_CHANGES = 64


def _ignore_progress(stage: str, done: int, total: int) -> None:
    pass


def build_index(
    roots: Sequence[Path],
    index_dir: Path,
    options: BuildOptions,
    progress: Progress = _ignore_progress,
) -> BuildReport:
    """The report of a build that brought the index up to date with the folders.

    Whatever happens, the last published generation stays as it was.

    Raises BusyError when another process keeps writing, InputError for a root that does not exist,
    IndexStateError when the disk refuses or this user may not write the index, ManyChangesError
    when more files changed than the options allow.
    """
    started = time.monotonic()
    request = BuildRequest(roots=roots, index_dir=index_dir, options=options, progress=progress)
    with durable_files.translate_disk_errors(index_dir):
        generation.check_folder(index_dir)
        with locks.write_lock(index_dir, options.lock_timeout_s):
            publication.sweep(index_dir)
            comparison = compare_tree(request)
            if comparison is None or comparison.changed:
                # Most builds find no change, and do without all this.
                from capdisc_indexer.indexing.build_stages import build_changes

                report = build_changes(request, comparison)
            else:
                report = report_no_change(comparison)
            publication.collect(index_dir, report.generation.number)
    return replace(report, seconds=time.monotonic() - started)


def find_no_change(
    roots: Sequence[Path], index_dir: Path, options: BuildOptions
) -> BuildReport | None:
    """The report of `build_index` where it would find no change, without the lock for writing; None
    where it may find one, or where another writer is at work or was killed.
    """
    request = BuildRequest(
        roots=roots, index_dir=index_dir, options=options, progress=_ignore_progress
    )
    comparison = compare_tree(request)
    if (
        comparison is None
        or comparison.changed
        or publication.list_unfinished(index_dir)
        or publication.surplus_generations(index_dir, comparison.published.number)
    ):
        return None
    generation.mark_use(index_dir)
    return report_no_change(comparison)


def compare_tree(request: BuildRequest) -> TreeComparison | None:
    """What changed since the last build of this request, where it asks for errors only and the
    stamps tell everything about a few changes at most; else None.
    """
    options = request.options
    if not options.only_new_findings or options.rebuild or options.verify:
        return None
    pointer = generation.read_pointer(request.index_dir)
    data = folder_stamps.read_report(request.index_dir, pointer) if pointer else b""
    try:
        record = _read_record(data)
        if record is None or record["key"] != describe_request(request):
            return None
        published = generation.load_current(request.index_dir, options.builder_id)
        if (
            published is None
            or not pointer.startswith(f"{published.number} ")  # another one was published just now
            or find_difference(published, options.passage_limits)
        ):
            return None
        now_ns = time.time_ns()
        changed = folder_stamps.find_changes(request.index_dir, pointer, MAX_CHANGES)
        selected = select_encoder(options, published.encoder)
        if changed is None or selected.fingerprint != published.fingerprint:
            return None
    except (CapdiscError, OSError, *MALFORMED_DATA_ERRORS):
        return None  # the build that follows says what is wrong
    return TreeComparison(
        request=request,
        published=published,
        selected=selected,
        record=record,
        changed=changed,
        compared_at_ns=now_ns,
    )


def _read_record(data: bytes) -> TreeRecord | None:
    """Raises one of MALFORMED_DATA_ERRORS for a damaged record."""
    if not data:
        return None
    record = json.loads(data)
    counts = {str(name): int(count) for name, count in record["counts"].items()}
    return {
        "key": str(record["key"]),
        "counts": counts,
        "errors": [file_states.parse_finding(row) for row in record["errors"]],
        "named": [str(folder) for folder in record["named"]],
        "stored": {
            str(name): (int(changed_ns), int(size), int(inode))
            for name, (changed_ns, size, inode) in record["stored"].items()
        },
    }


def report_no_change(comparison: TreeComparison) -> BuildReport:
    """The report of a build that finds nothing to publish."""
    return BuildReport(
        generation=comparison.published,
        published=False,
        counts=comparison.record["counts"],
        findings=tuple(comparison.record["errors"]),
        degraded=describe_reranker(comparison.published),
        roots=comparison.request.root_names,
        changed_ids={"added": (), "updated": (), "removed": ()},
    )
