"""The last build, as far as it can be trusted: what the next build may reuse.

A build reuses parsed files, documents and vectors of the published generation. Where that
generation is damaged, of another release or of another user, only its settings (roots, encoder)
survive, and only those of the same user.

The stamps of the files lie in the generation, as they were when it was built. A later scan that
found no change writes newer stamps to `scan.json` next to the generations. That file is replaced
at any time and has no digest: losing it costs reading some files again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from capdisc_indexer import encoders
from capdisc_indexer.model.errors import (
    MALFORMED_DATA_ERRORS,
    DamagedIndexError,
    ForeignIndexError,
    IndexStateError,
)
from capdisc_indexer.model.frozen import field, frozen, replace, shallow_dict
from capdisc_indexer.model.json_types import CapabilityHeader, JsonObject, ScanRecord
from capdisc_indexer.model.types import Coverage, Finding, Generation, PassageLimits
from capdisc_indexer.plugins.entry_points import describe_release
from capdisc_indexer.store import durable_files, generation, native_errors
from capdisc_indexer.store.file_states import FileState
from capdisc_indexer.store.folder_stamps import parse_coverage

if TYPE_CHECKING:
    from capdisc_indexer.store.state_database import StateDatabase

# The guidance of each category by its folded name: the category as written, and the text.
GuidanceByCategory: TypeAlias = Mapping[str, Mapping[str, str]]
# Header and body of a stored capability as one mapping.
StoredRecord: TypeAlias = Mapping[str, Any]
# Time of the content, size, inode.
FileStamp: TypeAlias = tuple[int, int, int]
# Severity, code and path of a finding.
ScanFinding: TypeAlias = tuple[str, str, str]
# From final ids to header and body of what the last generation has of them.
LoadRecords: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[CapabilityHeader, JsonObject]]]


@frozen(kw_only=True)
class PreviousBuild:
    """The last generation with the states of its files; empty when there is none to trust.

    `reason` says why an existing generation cannot be reused: it is empty, too, when there was no
    generation, or a rebuild was requested. `notices` are for the user. `files` are the states of
    the generation (`state`) with the stamps of a later scan, `scan` is the record of the last
    scan. `coverage` is None where an earlier release built it. `is_seed`: the generation is that
    of another index, which has some of the same files.
    """

    generation: Generation | None = None
    folder: Path | None = None
    files: Mapping[str, FileState] = field(default_factory=dict)
    state: StateDatabase | None = None
    scan: ScanRecord | None = None
    scanned_at_ns: int = 0
    roots: tuple[str, ...] = ()
    reason: str = ""
    notices: tuple[str, ...] = ()
    encoder: str = ""
    reranker: str = ""
    coverage: Coverage | None = None
    devices: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, float] = field(default_factory=dict)
    guidance: GuidanceByCategory = field(default_factory=dict)
    is_seed: bool = False

    @property
    def is_known(self) -> bool:
        """Whether anything says what the last build covered."""
        return self.coverage is not None or bool(self.roots)

    @property
    def scan_findings(self) -> Collection[ScanFinding]:
        """The findings of the last scan, about no file that is indexed."""
        rows = self.scan.get("findings", ()) if self.scan else ()
        return {(severity, code, path) for severity, code, path in rows}


def load_previous_build(
    index_dir: Path,
    rebuild: bool = False,
    verify: bool = False,
    builder_id: str | None = None,
    passage_limits: PassageLimits | None = None,
) -> PreviousBuild:
    """The last build; only its settings with `rebuild`, or when it is damaged, of another release
    or model, or has other limits of passages (None: any).

    With `verify` every byte of it is read, and a difference counts as damage. A build of another
    builder than `builder_id` (None: any builder) gives nothing at all.
    """
    try:
        manifest = generation.load_current(index_dir, builder_id)
        if manifest is None or rebuild:
            return recover_settings(index_dir, builder_id)
        if reason := find_difference(manifest, passage_limits):
            # No notice: this happens after every upgrade, and the user has nothing to do.
            return replace(recover_settings(index_dir, builder_id), reason=reason)
        if verify:
            check_digests(generation.generation_folder(index_dir, manifest.number), manifest)
        return _load_build(index_dir, manifest)
    except ForeignIndexError as error:
        notices = (f"{error.message}: rebuilding it, and reusing nothing of it",)
        return PreviousBuild(reason=error.message, notices=notices)
    except (IndexStateError, OSError, *MALFORMED_DATA_ERRORS) as error:
        return recover_settings(index_dir, builder_id, _describe_error(error))


def load_seed(
    previous: PreviousBuild, index_dir: Path, builder_id: str, limits: PassageLimits | None
) -> PreviousBuild:
    """The settings of a last build of which nothing can be reused, with what the other index in
    this folder holds; without a generation where that cannot be reused either.
    """
    other = load_previous_build(index_dir, builder_id=builder_id, passage_limits=limits)
    return replace(
        previous,
        generation=other.generation,
        folder=other.folder,
        files=other.files,
        state=other.state,
        scan=other.scan,
        scanned_at_ns=other.scanned_at_ns,
        guidance=other.guidance,
        is_seed=True,
    )


def find_difference(manifest: Generation, passage_limits: PassageLimits | None) -> str:
    """Why a generation cannot be reused, though it is whole; "" where it can be."""
    made_by = (describe_release(), encoders.shipped_fingerprint())
    if (manifest.made_by, manifest.pieces) != made_by:
        return f"the index was made by another release, {manifest.made_by}"
    is_same = passage_limits in (None, stored_limits(manifest))
    return "" if is_same else "the limits of passages were changed"


def stored_limits(manifest: Generation | None) -> PassageLimits:
    """The limits of passages that a generation was built with; the defaults without one."""
    if manifest is None:
        return PassageLimits()
    return PassageLimits(manifest.counts["passage_limit"], manifest.counts["passage_bytes"])


def after_failed_reuse(
    index_dir: Path, previous: PreviousBuild, error: Exception
) -> PreviousBuild:
    """The settings of a last build whose contents made the next build fail with this error.

    Raises the error where there was no generation to blame.
    """
    if previous.generation is None:
        raise error
    return recover_settings(index_dir, previous.generation.builder_id, _describe_error(error))


def recover_settings(
    index_dir: Path, builder_id: str | None = None, reason: str = ""
) -> PreviousBuild:
    """The roots and the encoders of the last build, and nothing else of it.

    They come from the newest files that can be read and that this builder wrote (None: any
    builder).
    """
    folders = _generation_folders(index_dir)
    manifests = _records_of_builder(builder_id, (folder / "MANIFEST" for folder in folders))
    scans = _records_of_builder(builder_id, (folder / "meta" / _SCAN_FILE for folder in folders))
    last = next((manifest for manifest in manifests if manifest.get("encoder")), {})
    scan = next((scan for scan in scans if isinstance(scan.get("roots"), list)), {})
    return PreviousBuild(
        reason=reason,
        notices=(f"{reason}: rebuilding it",) if reason else (),
        encoder=str(last.get("encoder", "")),
        reranker=str(last.get("reranker", "")),
        roots=tuple(map(str, scan.get("roots", ()))),
        coverage=_coverage_of(scan),
        missing=scan.get("missing", {}),
    )


def _coverage_of(scan: Mapping[str, Any]) -> Coverage | None:
    """The coverage in a record of a scan; None where it has none."""
    try:
        return parse_coverage(scan["covers"])
    except MALFORMED_DATA_ERRORS:
        return None


def find_other_release(index_dir: Path) -> str:
    """The release that published the index, whatever its format; "" where it is this one, or
    unknown.
    """
    number = generation.read_pointer(index_dir).partition(" ")[0]
    manifest = load_json_object(index_dir / "gens" / number.zfill(8) / "MANIFEST")
    made_by = str(manifest.get("made_by", ""))
    return made_by if made_by != describe_release() else ""


def is_built_by(index_dir: Path, builder_id: str | None) -> bool:
    """Whether the index folder is empty, or its newest generation names this builder (None: any
    builder), even where a part of that generation is damaged.
    """
    folders = _generation_folders(index_dir)
    if builder_id is None or not folders:
        return True
    records = (load_json_object(folders[0] / name) for name in ("MANIFEST", f"meta/{_SCAN_FILE}"))
    return any(record.get("builder_id") == builder_id for record in records)


def check_digests(folder: Path, manifest: Generation) -> None:
    """Raises DamagedIndexError unless every file of the generation in this folder has its
    published digest. Reads all files.
    """
    if damaged_files := native_errors.find_changed_files(folder, manifest.files):
        raise DamagedIndexError(
            f"the index is damaged: {damaged_files[0]} does not match its digest",
            native_errors.REBUILD_HINT,
        )


def check_changed_digests(
    index_dir: Path, manifest: Generation, stamps: Mapping[str, FileStamp]
) -> None:
    """The same for the files alone that have other stamps than these, which they had when their
    digests were right. To read 110 MB, the index of 10,000 skills, takes 0.1 s.
    """
    current_stamps = stamp_generation(index_dir, manifest)
    changed_files = {
        name: entry
        for name, entry in manifest.files.items()
        if stamps.get(name) != current_stamps[name]
    }
    if changed_files:
        folder = generation.generation_folder(index_dir, manifest.number)
        check_digests(folder, replace(manifest, files=changed_files))


def stamp_generation(index_dir: Path, manifest: Generation) -> dict[str, FileStamp]:
    """Time of the content, size and inode of each file of a generation. The time of the inode
    changes with each link of the next generation, and says nothing.

    Raises OSError for a file that is missing.
    """
    folder = generation.generation_folder(index_dir, manifest.number)
    statuses = {name: (folder / name).stat() for name in manifest.files}
    return {
        name: (status.st_mtime_ns, status.st_size, status.st_ino)
        for name, status in statuses.items()
    }


def load_published(
    previous: PreviousBuild, ids: Sequence[str]
) -> Iterator[tuple[CapabilityHeader, JsonObject]]:
    """Header and body of each of these capabilities that the last generation has."""
    if previous.folder is not None and ids:
        # Brings the text engine, which few runs need so early.
        from capdisc_indexer.store.documents import Documents

        for header, body, _ in Documents(previous.folder / "text").full_records(ids):
            yield header, body


def load_json_object(path: Path) -> JsonObject:
    """The object in a JSON file; an empty one for a missing file, or any other content."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _generation_folders(index_dir: Path) -> list[Path]:
    """The folders of all generations, newest first."""
    return sorted((index_dir / "gens").glob("[0-9]*"), reverse=True)


def _records_of_builder(builder_id: str | None, paths: Iterable[Path]) -> Iterator[JsonObject]:
    """The JSON objects in those of these files that name this builder."""
    for path in paths:
        record = load_json_object(path)
        if builder_id in (None, record.get("builder_id")):
            yield record


def _describe_error(error: Exception) -> str:
    if isinstance(error, IndexStateError):
        return error.message
    return f"the last index cannot be read ({type(error).__name__})"


def _load_build(index_dir: Path, manifest: Generation) -> PreviousBuild:
    folder = generation.generation_folder(index_dir, manifest.number)
    scan = load_last_scan(index_dir, folder, manifest.number)
    # Brings SQLite: a build that finds no change does without.
    from capdisc_indexer.store.state_database import StateDatabase

    state = StateDatabase(folder, {path: tuple(stat) for path, stat in scan["stats"].items()})
    guidance = json.loads((folder / "meta" / "guidance.json").read_bytes())
    return PreviousBuild(
        generation=manifest,
        folder=folder,
        files=state,
        state=state,
        scan=scan,
        scanned_at_ns=scan["scanned_at_ns"],
        roots=tuple(scan["roots"]),
        encoder=manifest.encoder,
        reranker=manifest.reranker,
        coverage=_coverage_of(scan),
        devices=scan.get("devices", {}),
        missing=scan.get("missing", {}),
        guidance=guidance["categories"],
    )


# The record of the last scan.

_SCAN_FILE = "scan.json"


def make_scan_record(
    roots: Sequence[str],
    scanned_at_ns: int,
    builder_id: str,
    findings: Iterable[Finding],
    coverage: Coverage,
    devices: Mapping[str, int],
    missing: Mapping[str, float],
    workspace: str,
) -> ScanRecord:
    """What a generation stores of the scan that it was built from, and of its findings."""
    return {
        "roots": roots,
        "scanned_at_ns": scanned_at_ns,
        "stats": {},
        "builder_id": builder_id,
        "findings": [(str(finding.severity), finding.code, finding.path) for finding in findings],
        "covers": shallow_dict(coverage),
        "devices": devices,
        "missing": missing,
        "workspace": workspace,
    }


def repeat_scan_record(record: ScanRecord, scanned_at_ns: int) -> ScanRecord:
    """The record of a later scan that found the same findings."""
    return {**record, "scanned_at_ns": scanned_at_ns, "stats": {}}


def count_findings(files: Mapping[str, FileState], scan: ScanRecord) -> Mapping[str, int]:
    """How many findings of each severity the build of a generation reported: of its scan, of its
    files and about ids.
    """
    # Brings the rules for names: only `status` counts.
    from capdisc_indexer.indexing.id_resolution import find_collisions

    counts = Counter(severity for severity, _, _ in scan.get("findings", ()))
    for state in files.values():
        counts.update(str(finding.severity) for finding in state.findings)
    counts.update(str(finding.severity) for finding in find_collisions(files))
    return counts


def load_last_scan(index_dir: Path, folder: Path, number: int) -> ScanRecord:
    """The record of the last scan that found exactly what generation `number`, in `folder`,
    holds.
    """
    built: ScanRecord = json.loads((folder / "meta" / _SCAN_FILE).read_bytes())
    later = load_json_object(index_dir / _SCAN_FILE)
    return later if later.get("number") == number and _is_scan_record(later) else built


def save_later_scan(
    index_dir: Path, number: int, record: ScanRecord, stats: Mapping[str, Sequence[int]]
) -> None:
    """Write the record of a scan that found what generation `number` holds; `stats` are the stamps
    of the files that differ from those in the generation.
    """
    data = json.dumps({**record, "number": number, "stats": stats}).encode()
    # A full disk must not fail a run that had nothing to publish.
    with suppress(OSError):
        durable_files.replace_file(index_dir / _SCAN_FILE, data)


def _is_scan_record(record: JsonObject) -> TypeGuard[ScanRecord]:
    roots, stats, findings = (record.get(name) for name in ("roots", "stats", "findings"))
    if (
        type(record.get("scanned_at_ns")) is not int
        or not isinstance(roots, list)
        or not isinstance(stats, dict)
        or not isinstance(findings, list)
    ):
        return False
    if not all(isinstance(row, list) and [*map(type, row)] == [str] * 3 for row in findings):
        return False
    has_numbers = all(
        isinstance(stat, list) and {*map(type, stat)} <= {int} for stat in stats.values()
    )
    return has_numbers and {*map(type, roots)} <= {str}
