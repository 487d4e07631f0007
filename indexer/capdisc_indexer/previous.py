"""The last build, as far as it can be trusted: what the next one may reuse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capdisc_indexer import __version__, encoders, state
from capdisc_indexer.errors import BROKEN, DamagedIndexError, ForeignIndexError, IndexStateError
from capdisc_indexer.frozen import field, frozen, replace
from capdisc_indexer.last_scan import json_object, keep, last_scan, scan_record
from capdisc_indexer.reconcile import Changes
from capdisc_indexer.state import FileState, Saved
from capdisc_indexer.store import generation, integrity
from capdisc_indexer.types import Generation


@frozen(kw_only=True)
class Previous:
    """The last generation with what it knew of the files; empty when there is none to trust, `reason` saying why.

    The reason is empty, too, when there was none, or nothing of it is wanted. `notices` are what people should know.
    """

    generation: Generation | None = None
    folder: Path | None = None
    files: Mapping[str, FileState] = field(default_factory=dict)
    saved: Saved = field(default_factory=Saved)
    nearest: Sequence[tuple[float, str]] = ()
    scanned_at_ns: int = 0
    roots: tuple[str, ...] = ()
    reason: str = ""
    notices: tuple[str, ...] = ()
    encoder: str = ""
    guidance: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def load_previous(
    index_dir: Path, rebuild: bool = False, verify: bool = False, builder_id: str | None = None
) -> Previous:
    """The last build; with `rebuild`, or when it is damaged or of another version or model, as if there had been none.

    With `verify` every byte of it is read, and a difference counts as damage. Of a build by another than `builder_id`
    (None: whoever it was) nothing is taken at all.
    """
    try:
        found = generation.current(index_dir, builder_id)
        if found is None or rebuild:
            return salvaged(index_dir, builder_id)
        if (found.made_by, found.pieces) != (__version__, encoders.shipped_fingerprint()):
            # No notice: after every upgrade it is so, and means nothing.
            reason = f"the index was made by another release, {found.made_by}"
            return replace(salvaged(index_dir, builder_id), reason=reason)
        if verify:
            check_digests(index_dir, found)
        return _opened(index_dir, found)
    except ForeignIndexError as error:
        notices = (f"{error.message}: building it anew, taking nothing from it",)
        return Previous(reason=error.message, notices=notices)
    except (IndexStateError, OSError, *BROKEN) as error:
        return salvaged(index_dir, builder_id, _what_is_wrong(error))


def is_built_by(index_dir: Path, builder_id: str | None) -> bool:
    """Whether the index folder holds what this builder wrote (None: whoever it was), or nothing: its newest generation
    says so, even where a part of it is damaged."""
    folders = sorted((index_dir / "gens").glob("[0-9]*"), reverse=True)
    if builder_id is None or not folders:
        return True
    records = (json_object(folders[0] / name) for name in ("MANIFEST", "meta/scan.json"))
    return any(record.get("builder_id") == builder_id for record in records)


def _what_is_wrong(error: Exception) -> str:
    if isinstance(error, IndexStateError):
        return error.message
    return f"the last index cannot be read ({type(error).__name__})"


def given_up(index_dir: Path, last: Previous, error: Exception) -> Previous:
    """What is left of a last build with which another one ended so. Raises the error where there was none."""
    if last.generation is None:
        raise error
    return salvaged(index_dir, last.generation.builder_id, _what_is_wrong(error))


def check_digests(index_dir: Path, found: Generation) -> None:
    """Raises DamagedIndexError unless every file of the generation holds what was published. Reads everything."""
    if wrong := generation.verify_digests(index_dir, found):
        raise DamagedIndexError(f"the index is damaged: {wrong[0]} does not match its digest", integrity.REBUILD)


def salvaged(index_dir: Path, builder_id: str | None = None, reason: str = "") -> Previous:
    """Nothing of the last build but what was asked of it: its roots and its encoder, as far as they can be read and
    were written by this builder (None: by anyone)."""
    folders = sorted((index_dir / "gens").glob("[0-9]*"), reverse=True)
    manifests = _written_by(builder_id, (folder / "MANIFEST" for folder in folders))
    scans = _written_by(builder_id, (folder / "meta" / "scan.json" for folder in folders))
    encoder = next((str(each["encoder"]) for each in manifests if each.get("encoder")), "")
    roots = next((tuple(map(str, each["roots"])) for each in scans if isinstance(each.get("roots"), list)), ())
    notices = (f"{reason}: building it anew",) if reason else ()
    return Previous(reason=reason, notices=notices, encoder=encoder, roots=roots)


def _written_by(builder_id: str | None, paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The JSON objects in these files that say they are of this builder."""
    for path in paths:
        record = json_object(path)
        if builder_id in (None, record.get("builder_id")):
            yield record


def _opened(index_dir: Path, found: Generation) -> Previous:
    folder = generation.folder(index_dir, found.number)
    scan = last_scan(index_dir, folder, found.number)
    saved = state.load(folder / "meta" / "files.json")
    files = dict(saved.files)
    for path, stat in scan["stats"].items():
        if path in files and files[path].stat != tuple(stat):
            files[path] = files[path]._replace(stat=tuple(stat))
    return Previous(
        generation=found,
        folder=folder,
        files=files,
        saved=saved,
        nearest=[(distance, text) for distance, text in json.loads((folder / "meta" / "probes.json").read_bytes())],
        scanned_at_ns=scan["scanned_at_ns"],
        roots=tuple(scan["roots"]),
        encoder=found.encoder,
        guidance=json.loads((folder / "meta" / "guidance.json").read_bytes())["categories"],
    )


def published_records(last: Previous, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Head and body in one of the capabilities with these ids in the last generation, as far as it has them."""
    if last.folder is None or not ids:
        return {}
    from capdisc_indexer.store.lexical import Documents  # with the text engine, which few runs need so early

    found = Documents(last.folder / "text").whole(list(ids))
    return {str(head["id"]): {**head, **body} for head, body, _ in found}


def remember_scan(index_dir: Path, last: Previous, changes: Changes, scanned_at_ns: int) -> None:
    """Note that everything was looked at again and nothing had changed, so that the next run reads even less."""
    if last.generation is None or not changes.hashed:
        return
    built = last.saved.files
    stats = {path: one.stat for path, one in changes.files.items() if built[path].stat != one.stat}
    keep(index_dir, last.generation.number, scan_record(last.roots, scanned_at_ns, last.generation.builder_id), stats)
