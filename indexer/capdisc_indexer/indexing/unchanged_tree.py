"""What changed in the folders since the last build, and which report does a build give where
nothing did?

Most builds find no change. One compares the states of all files with a scan: of 84,000 skills,
half a gigabyte and seven seconds. The stamps next to the index tell the same
(`store.folder_stamps`), so the report of a build that finds no change lies there, too, with all
that it depends on. It is written only for a tree whose stamps tell everything: without links, and
without files that could not be read. Declared sources, which are few files in few places, are
looked for again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TypedDict

from capdisc_indexer import encoders
from capdisc_indexer.indexing.build_plan import (
    ABOUT_NAMES,
    NOT_RERANKED,
    BuildRequest,
    SelectedEncoder,
    describe_reranker,
    select_encoder,
)
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.file_reader import must_read_again
from capdisc_indexer.indexing.previous_build import FileStamp, stamp_generation, stored_limits
from capdisc_indexer.indexing.tree_scan import ScanSnapshot
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, CapdiscError
from capdisc_indexer.model.frozen import frozen, replace, shallow_dict
from capdisc_indexer.model.types import BuildOptions, BuildReport, Finding, Generation, Severity
from capdisc_indexer.platforms import resolve_path
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import file_states, folder_stamps, generation

_NO_CHANGE = dict.fromkeys(
    ("parsed", "removed_files", "added", "removed", "updated", "embedded"), 0
)


class TreeRecord(TypedDict):
    """What a build leaves behind with the stamps: a digest of its request, the counts and errors
    of a build that finds no change, the folders with findings about names, and the stamps of the
    generation's files.
    """

    key: str
    counts: Mapping[str, int]
    errors: Sequence[Finding]
    named: Sequence[str]
    stored: Mapping[str, FileStamp]


# More paths than these are looked at by a scan of everything.
MAX_CHANGES = 64


@frozen(kw_only=True)
class TreeComparison:
    """What the stamps show: the paths of files and folders that `changed` since the `published`
    generation was built; and what the build left behind for this request, which is the same as
    then.
    """

    request: BuildRequest
    published: Generation
    selected: SelectedEncoder
    record: TreeRecord
    changed: tuple[str, ...]
    compared_at_ns: int


def encode_report(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath, report: BuildReport
) -> bytes:
    """What `compare_tree` reads; b"" where the stamps of the scan do not tell everything."""
    if not _can_rely_on_stamps(request, snapshot, states, report):
        return b""
    return encode_record(
        {
            "key": _describe_request(request),
            "counts": dict(report.counts),
            "errors": [
                finding for finding in report.findings if finding.severity is Severity.ERROR
            ],
            # A build that published has computed or compared the digest of each file.
            "stored": stamp_generation(request.index_dir, report.generation)
            if report.published
            else {},
            "named": sorted(
                {finding.path.rpartition("/")[0] for finding in snapshot.scan.findings}
            ),
        }
    )


def encode_record(record: TreeRecord) -> bytes:
    """The record for the next build, which finds no change."""
    counts = {**record["counts"], **_NO_CHANGE, "unchanged": record["counts"]["files"]}
    return json.dumps({**record, "counts": counts}, default=shallow_dict).encode("ascii")


def update_record(comparison: TreeComparison, report: BuildReport) -> TreeRecord:
    """What a build that looked at a part of the tree leaves behind."""
    record = comparison.record
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    stored = record["stored"]
    if report.published:
        stored = stamp_generation(comparison.request.index_dir, report.generation)
    return {**record, "counts": report.counts, "errors": errors, "stored": stored}


def compare_tree(request: BuildRequest) -> TreeComparison | None:
    """What changed since the last build of this request, where it asks for errors only and the
    stamps tell everything about a few changes at most; else None. Its caller holds the lock for
    writing.
    """
    options = request.options
    if not options.only_new_findings or options.rebuild or options.verify:
        return None
    pointer = generation.read_pointer(request.index_dir)
    data = folder_stamps.read_report(request.index_dir, pointer) if pointer else b""
    try:
        record = _read_record(data)
        if record is None or record["key"] != _describe_request(request):
            return None
        published = generation.load_current(request.index_dir, options.builder_id)
        if published is None or not _is_reusable(published, options):
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


def _is_reusable(published: Generation, options: BuildOptions) -> bool:
    """Whether the next build takes over this generation; see `load_previous_build`."""
    made_by = (published.made_by, published.pieces)
    has_same_limits = options.passage_limits in (None, stored_limits(published))
    return has_same_limits and made_by == (describe_release(), encoders.shipped_fingerprint())


def _describe_request(request: BuildRequest) -> str:
    """All that a report depends on besides the tree and the generation."""
    options = replace(
        request.options,
        lock_timeout_s=0.0,
        max_changes=None,
        encoder_required=False,
        last_coverage=None,
        seeds=(),
        only_new_findings=False,
        rebuild=False,
        verify=False,
    )
    real_roots = [resolve_path(root) for root in request.root_names]
    declared = _scan_declared_sources(request)
    text = repr((request.root_names, real_roots, options, declared))
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def _scan_declared_sources(request: BuildRequest) -> ScanResult:
    """The files of the declared sources now. Raises InputError for an invalid declaration."""
    options = request.options
    return scan_roots([], options.sources, None, options.confined, options.links)


def _can_rely_on_stamps(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath, report: BuildReport
) -> bool:
    scan = snapshot.scan
    known_findings = set(_scan_declared_sources(request).findings)
    return (
        request.options.max_files is None
        # That time passes shows in no stamp.
        and not report.missing
        # Of a root that is a file, the stamps do not show what appears next to it.
        and all(map(os.path.isdir, request.root_names))
        and not snapshot.stamps.uncertain_count
        and not scan.outside_places
        and not scan.waiting
        and all(
            finding.code in ABOUT_NAMES or finding in known_findings for finding in scan.findings
        )
        and not report.held_definitions
        # A reranker is tried again when something changes, or with --rebuild.
        and all(text.startswith(NOT_RERANKED) for text in report.degraded)
        and not any(map(_has_links, scan.files))
        and not any(map(must_read_again, states.values()))
    )


def _has_links(file: FoundFile) -> bool:
    return bool(file.lost or file.other_paths or file.link_target)
