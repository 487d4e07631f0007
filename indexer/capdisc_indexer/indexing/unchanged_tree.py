"""Which report does a build give whose folders are as the last build left them?

Most builds find no change. One compares the states of all files with a scan: of 84,000 skills, half
a gigabyte and seven seconds. The stamps beside the index tell the same (`store.folder_stamps`), so
the report of a build that finds no change lies there, too, with all that it depends on. It is
written only for a tree whose stamps tell everything: without links, and without files that could
not be read. Declared sources, which are few files in few places, are looked for again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping

from capdisc_indexer import __version__, encoders
from capdisc_indexer.indexing.build_plan import BuildRequest, select_encoder
from capdisc_indexer.indexing.cached_scan import ScanSnapshot
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.file_reader import must_read_again
from capdisc_indexer.indexing.previous_build import stored_limits
from capdisc_indexer.model.errors import MALFORMED_DATA_ERRORS, CapdiscError
from capdisc_indexer.model.frozen import replace, shallow_dict
from capdisc_indexer.model.types import BuildOptions, BuildReport, Generation, Severity
from capdisc_indexer.sources.scan.file_scan import ScanResult, scan_roots
from capdisc_indexer.sources.scan.scanned_files import FoundFile
from capdisc_indexer.store import file_states, folder_stamps, generation

# Findings of a scan about names, which change with the stamps of their folders alone.
_ABOUT_NAMES = frozenset({"misnamed-manifest", "path-character", "path-too-deep", "path-twin"})
_NO_CHANGE = dict.fromkeys(
    ("parsed", "removed_files", "added", "removed", "updated", "embedded"), 0
)


def encode_report(
    request: BuildRequest, snapshot: ScanSnapshot, states: StatesByPath, report: BuildReport
) -> bytes:
    """What `recall_report` reads; b"" where the stamps of the scan do not tell everything."""
    if not _can_rely_on_stamps(request, snapshot, states, report):
        return b""
    counts = {**report.counts, **_NO_CHANGE, "unchanged": report.counts["files"]}
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    record = {"key": _describe_request(request), "counts": counts, "errors": errors}
    return json.dumps(record, default=shallow_dict).encode("ascii")


def recall_report(request: BuildRequest) -> BuildReport | None:
    """The report of a build of this request, where it asks for errors only and the stamps show that
    it would find no change; else None. Its caller holds the lock for writing.
    """
    options = request.options
    if not options.errors_only or options.rebuild or options.verify:
        return None
    pointer = generation.read_pointer(request.index_dir)
    data = folder_stamps.read_report(request.index_dir, pointer) if pointer else b""
    try:
        record = json.loads(data or b"{}")
        if record.get("key") != _describe_request(request):
            return None
        published = generation.load_current(request.index_dir, options.builder_id)
        if published is None or not _is_reusable(published, options):
            return None
        is_unchanged = (
            folder_stamps.is_tree_unchanged(request.index_dir, pointer)
            and select_encoder(options, published.encoder).fingerprint == published.fingerprint
        )
        return _make_report(request, published, record) if is_unchanged else None
    except (CapdiscError, OSError, *MALFORMED_DATA_ERRORS):
        return None  # the build that follows says what is wrong


def _make_report(
    request: BuildRequest, published: Generation, record: Mapping[str, object]
) -> BuildReport:
    """Raises one of MALFORMED_DATA_ERRORS for a damaged record."""
    counts, errors = record["counts"], record["errors"]
    if not isinstance(counts, dict) or not isinstance(errors, list):
        raise TypeError
    return BuildReport(
        generation=published,
        published=False,
        counts={str(name): int(count) for name, count in counts.items()},
        findings=tuple(map(file_states.parse_finding, errors)),
        roots=request.root_names,
        changed_ids={"added": (), "updated": (), "removed": ()},
    )


def _is_reusable(published: Generation, options: BuildOptions) -> bool:
    """Whether the next build takes over this generation; see `load_previous_build`."""
    made_by = (published.made_by, published.pieces)
    has_same_limits = options.passage_limits in (None, stored_limits(published))
    return has_same_limits and made_by == (__version__, encoders.shipped_fingerprint())


def _describe_request(request: BuildRequest) -> str:
    """All that a report depends on beside the tree and the generation."""
    options = replace(
        request.options,
        lock_timeout_s=0.0,
        max_changes=None,
        encoder_required=False,
        with_table=False,
        max_table_size=None,
        errors_only=False,
        rebuild=False,
        verify=False,
    )
    real_roots = [os.path.realpath(root) for root in request.root_names]
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
        and not snapshot.memory.uncertain_count
        and not scan.outside_places
        and not scan.waiting_links
        and all(
            finding.code in _ABOUT_NAMES or finding in known_findings for finding in scan.findings
        )
        and not report.held_definitions
        and not report.degraded
        and not any(map(_has_links, scan.files))
        and not any(map(must_read_again, states.values()))
    )


def _has_links(file: FoundFile) -> bool:
    return bool(file.lost or file.other_paths or file.link_target)
