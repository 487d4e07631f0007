"""Put a generation that was built here into the store, for everybody: all of it first, the pointer last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from capdisc_indexer.errors import BusyError
from capdisc_indexer.remote import layout, table
from capdisc_indexer.remote.bucket import Bucket, Head
from capdisc_indexer.remote.fetching import at_once
from capdisc_indexer.remote.retiring import removed
from capdisc_indexer.remote.values import Shared, StoreError
from capdisc_indexer.store import generation, publication
from capdisc_indexer.types import Generation

Progress = Callable[[str, int, int], None]
UNGUARDED = "this store knows no conditional writes: let only one writer at a time publish there"


def published(shared: Shared, bucket: Bucket, last: Head | None, found: Generation, progress: Progress) -> Head:
    """What the pointer says once it points to the generation `found` of the work folder.

    Raises BusyError when another writer has published since `last` was read, StoreError when the store refuses; what
    was written until then is taken away again, or by a later writer.
    """
    folder = generation.folder(shared.work, found.number)
    rows = table.rows_of(folder) if found.counts["dim"] else None
    facts = rows.facts() if rows else layout.NO_TABLE
    manifest = layout.published_manifest((folder / "MANIFEST").read_bytes(), facts)
    target = layout.folder_name(found.number, hashlib.sha256(manifest).hexdigest())
    try:
        _upload(bucket, folder, target, manifest, facts, progress)
        if rows is not None:
            progress("Uploading", 1, 1)
            table.write(shared, target, rows)
        bucket.put(f"{target}/MANIFEST", manifest)
        line = publication.pointer_line(found.number, manifest)
        bucket.point(line, last)
    except BusyError:
        with suppress(StoreError):
            removed(bucket, f"{target}/")
        raise
    return Head(text=line, etag="")


def unguarded(bucket: Bucket, text: str) -> bool:
    """Whether the store would let two writers both win: a write whose condition does not hold goes through there."""
    number, digest = layout.pointed(text)
    name = f"{layout.folder_name(number, digest)}/MANIFEST"
    return not bucket.obeys(name, bucket.read(name, layout.MAX_MANIFEST_BYTES))


def _upload(bucket: Bucket, folder: Path, target: str, manifest: bytes, facts: bytes, progress: Progress) -> None:
    """Every file that the manifest names; empty ones are made by who reads."""
    sizes = {name: entry["size"] for name, entry in json.loads(manifest)["files"].items()}
    names = sorted((name for name, size in sizes.items() if size), key=lambda name: -sizes[name])
    progress("Uploading", 0, len(names))
    at_once(
        lambda name: bucket.put(f"{target}/{name}", facts if name == layout.TABLE_FACTS else folder / name),
        names,
    )
