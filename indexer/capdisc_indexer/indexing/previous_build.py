"""The last build, as far as it can be trusted: what the next one may reuse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__, encoders
from capdisc_indexer.indexing.change_detection import Changes
from capdisc_indexer.model.errors import (
    MALFORMED_DATA_ERRORS,
    DamagedIndexError,
    ForeignIndexError,
    IndexStateError,
)
from capdisc_indexer.model.frozen import field, frozen, replace
from capdisc_indexer.model.types import Generation
from capdisc_indexer.store import durable_files, file_states, generation, native_errors
from capdisc_indexer.store.file_states import FileState, SavedStates

# When each file was last looked at: as its generation has it, and beside the generations, where
# that came later.
#
# What lies beside them is replaced at will and has no digest: losing it costs a read of some
# files.

_SCAN_FILE = "scan.json"


def scan_record(roots: Sequence[str], scanned_at_ns: int, builder_id: str) -> dict[str, Any]:
    """What a generation keeps of the scan that it was built from."""
    return {"roots": roots, "scanned_at_ns": scanned_at_ns, "stats": {}, "builder_id": builder_id}


def load_last_scan(index_dir: Path, folder: Path, number: int) -> dict[str, Any]:
    """The record of the last scan that found what the generation with this number, in `folder`,
    holds.
    """
    built: dict[str, Any] = json.loads((folder / "meta" / _SCAN_FILE).read_bytes())
    later = load_json_object(index_dir / _SCAN_FILE)
    return later if later.get("number") == number and _is_scan_record(later) else built


def save_scan_times(
    index_dir: Path, number: int, record: Mapping[str, Any], stats: Mapping[str, Sequence[int]]
) -> None:
    """Keep a later record, with the stamps of the files that look otherwise than at the build."""
    data = json.dumps({**record, "number": number, "stats": stats}).encode()
    # A full disk must not fail a run that had nothing to write.
    with suppress(OSError):
        durable_files.replace_file(index_dir / _SCAN_FILE, data)


def load_json_object(path: Path) -> dict[str, Any]:
    """The object in a file of JSON; an empty one where there is none."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_scan_record(later: Mapping[str, Any]) -> bool:
    roots, stats = later.get("roots"), later.get("stats")
    if (
        type(later.get("scanned_at_ns")) is not int
        or not isinstance(roots, list)
        or not isinstance(stats, dict)
    ):
        return False
    numbers = all(isinstance(stat, list) and {*map(type, stat)} <= {int} for stat in stats.values())
    return numbers and {*map(type, roots)} <= {str}


@frozen(kw_only=True)
class PreviousBuild:
    """The last generation with what it knew of the files; empty when there is none to trust,
    `reason` saying why.

    The reason is empty, too, when there was none, or nothing of it is wanted. `notices` are what
    people should know.
    """

    generation: Generation | None = None
    folder: Path | None = None
    files: Mapping[str, FileState] = field(default_factory=dict)
    saved_states: SavedStates = field(default_factory=SavedStates)
    nearest: Sequence[tuple[float, str]] = ()
    scanned_at_ns: int = 0
    roots: tuple[str, ...] = ()
    reason: str = ""
    notices: tuple[str, ...] = ()
    encoder: str = ""
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def load_previous_build(
    index_dir: Path, rebuild: bool = False, verify: bool = False, builder_id: str | None = None
) -> PreviousBuild:
    """The last build; with `rebuild`, or when it is damaged or of another version or model, as if
    there had been none.

    With `verify` every byte of it is read, and a difference counts as damage. Of a build by
    another than `builder_id` (None: whoever it was) nothing is taken at all.
    """
    try:
        manifest = generation.load_current(index_dir, builder_id)
        if manifest is None or rebuild:
            return recover_settings(index_dir, builder_id)
        if (manifest.made_by, manifest.pieces) != (__version__, encoders.shipped_fingerprint()):
            # No notice: after every upgrade it is so, and means nothing.
            reason = f"the index was made by another release, {manifest.made_by}"
            return replace(recover_settings(index_dir, builder_id), reason=reason)
        if verify:
            check_digests(index_dir, manifest)
        return _load_build(index_dir, manifest)
    except ForeignIndexError as error:
        notices = (f"{error.message}: building it anew, taking nothing from it",)
        return PreviousBuild(reason=error.message, notices=notices)
    except (IndexStateError, OSError, *MALFORMED_DATA_ERRORS) as error:
        return recover_settings(index_dir, builder_id, _describe_error(error))


def is_built_by(index_dir: Path, builder_id: str | None) -> bool:
    """Whether the index folder holds what this builder wrote (None: whoever it was), or nothing:
    its newest generation says so, even where a part of it is damaged.
    """
    folders = sorted((index_dir / "gens").glob("[0-9]*"), reverse=True)
    if builder_id is None or not folders:
        return True
    records = (load_json_object(folders[0] / name) for name in ("MANIFEST", "meta/scan.json"))
    return any(record.get("builder_id") == builder_id for record in records)


def _describe_error(error: Exception) -> str:
    if isinstance(error, IndexStateError):
        return error.message
    return f"the last index cannot be read ({type(error).__name__})"


def after_failed_reuse(index_dir: Path, previous: PreviousBuild, error: Exception) -> PreviousBuild:
    """What is left of a last build with which another one ended so. Raises the error where there
    was none.
    """
    if previous.generation is None:
        raise error
    return recover_settings(index_dir, previous.generation.builder_id, _describe_error(error))


def check_digests(index_dir: Path, manifest: Generation) -> None:
    """Raises DamagedIndexError unless every file of the generation holds what was published. Reads
    everything.
    """
    if wrong := generation.verify_digests(index_dir, manifest):
        raise DamagedIndexError(
            f"the index is damaged: {wrong[0]} does not match its digest",
            native_errors.REBUILD_HINT,
        )


def recover_settings(
    index_dir: Path, builder_id: str | None = None, reason: str = ""
) -> PreviousBuild:
    """Nothing of the last build but what was asked of it: its roots and its encoder, as far as
    they can be read and were written by this builder (None: by anyone).
    """
    folders = sorted((index_dir / "gens").glob("[0-9]*"), reverse=True)
    manifests = _written_by(builder_id, (folder / "MANIFEST" for folder in folders))
    scans = _written_by(builder_id, (folder / "meta" / "scan.json" for folder in folders))
    encoder = next(
        (str(manifest["encoder"]) for manifest in manifests if manifest.get("encoder")), ""
    )
    roots = next(
        (tuple(map(str, scan["roots"])) for scan in scans if isinstance(scan.get("roots"), list)),
        (),
    )
    notices = (f"{reason}: building it anew",) if reason else ()
    return PreviousBuild(reason=reason, notices=notices, encoder=encoder, roots=roots)


def _written_by(builder_id: str | None, paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The JSON objects in these files that say they are of this builder."""
    for path in paths:
        record = load_json_object(path)
        if builder_id in (None, record.get("builder_id")):
            yield record


def _load_build(index_dir: Path, manifest: Generation) -> PreviousBuild:
    folder = generation.generation_folder(index_dir, manifest.number)
    scan = load_last_scan(index_dir, folder, manifest.number)
    saved = file_states.load_states(folder / "meta" / "files.json")
    files = dict(saved.files)
    for path, stat in scan["stats"].items():
        if path in files and files[path].stat != tuple(stat):
            files[path] = files[path]._replace(stat=tuple(stat))
    return PreviousBuild(
        generation=manifest,
        folder=folder,
        files=files,
        saved_states=saved,
        nearest=[
            (distance, text)
            for distance, text in json.loads((folder / "meta" / "probes.json").read_bytes())
        ],
        scanned_at_ns=scan["scanned_at_ns"],
        roots=tuple(scan["roots"]),
        encoder=manifest.encoder,
        guidance=json.loads((folder / "meta" / "guidance.json").read_bytes())["categories"],
    )


def published_records(last: PreviousBuild, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Head and body in one of the capabilities with these ids in the last generation, as far as it
    has them.
    """
    if last.folder is None or not ids:
        return {}
    from capdisc_indexer.store.documents import (
        Documents,  # with the text engine, which few runs need so early
    )

    found = Documents(last.folder / "text").full_records(list(ids))
    return {str(head["id"]): {**head, **body} for head, body, _ in found}


def record_scan(
    index_dir: Path, previous: PreviousBuild, changes: Changes, scanned_at_ns: int
) -> None:
    """Note that everything was looked at again and nothing had changed, so that the next run reads
    even less.
    """
    if previous.generation is None or not changes.hashed_count:
        return
    built = previous.saved_states.files
    stats = {
        path: state.stat for path, state in changes.files.items() if built[path].stat != state.stat
    }
    save_scan_times(
        index_dir,
        previous.generation.number,
        scan_record(previous.roots, scanned_at_ns, previous.generation.builder_id),
        stats,
    )
