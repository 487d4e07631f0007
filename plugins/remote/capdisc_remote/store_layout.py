"""An index on an object store, which one builds and many read: what lies where in the store, what
of it is believed, and how it is reached.

    s3://bucket/prefix/CURRENT                             number and MANIFEST digest of the published generation
    s3://bucket/prefix/generations/00000007-<16 digits>/   MANIFEST text/ matrix/ meta/, and table/ written by LanceDB

The digits are the manifest's, so that two writers of the same number never write the same object.
CURRENT is written last, on the condition that it is still the one that was built upon. Readers
copy all of it but the table, which stays in the store for readers that query it in place.

A bucket may hold anything. Nothing of it is written anywhere here before its name was checked, and
nothing is opened before it has the size and the digest that the manifest names; the manifest's own
digest stands in the pointer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from capdisc_indexer.model.errors import IndexStateError, UsageError
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import JsonObject
from capdisc_indexer.store import generation
from capdisc_indexer.text.normalization import compile_late

GENERATIONS = "generations/"
# The folder of the LanceDB table.
TABLE = "table"
# Listed like any file of the generation: every term with the number of capabilities that have it,
# for readers that query the table in place.
TERMS_FILE = "meta/terms.tsv"
MAX_MANIFEST_BYTES = 16 << 20
MAX_FILES = 20_000
MAX_BYTES = 256 << 30
REBUILD_HINT = "whoever builds it runs: capdisc index --rebuild"

_POINTER = compile_late(r"([1-9]\d{0,7}) ([0-9a-f]{64})\n")
_NAME = compile_late(r"(?:LEASE|(?:text|matrix|passages|meta)(?:/[A-Za-z0-9_.-]{1,120}){1,3})")
_DIGEST = compile_late(r"[0-9a-f]{64}")
_BUCKET = compile_late(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}")
_PART = compile_late(r"[A-Za-z0-9_=+@,!() -][A-Za-z0-9._=+@,!() -]{0,200}")


class StoreError(IndexStateError):
    """The object store refused, or did not answer."""


class MissingObjectError(StoreError):
    """The object store has no such object."""


def parse_address(text: str) -> tuple[str, str]:
    """Bucket and prefix. Raises UsageError for a text that is not a plain address of a bucket."""
    scheme, _, path = text.partition(":")
    bucket, _, prefix = path.lstrip("/").partition("/")
    parts = [part for part in prefix.split("/") if part]
    is_plain = bool(_BUCKET.fullmatch(bucket)) and all(map(_PART.fullmatch, parts))
    if scheme != "s3" or not is_plain:
        raise UsageError(
            "this is not the address of a shared index",
            "write s3://BUCKET/PREFIX, of plain letters",
        )
    return bucket, "/".join(parts)


def cache_folder(text: str, endpoint: str, cache: Path) -> Path:
    """The folder here that belongs to the address. Buckets of one name may lie on several servers,
    so the server counts, too.
    """
    bucket, prefix = parse_address(text)
    digits = hashlib.sha256(f"{endpoint}\n{bucket}/{prefix}".encode()).hexdigest()[:16]
    return cache / "shared" / f"{bucket}-{digits}"


@frozen(kw_only=True)
class PointerVersion:
    """The text of the pointer, and the store's tag of that version of it."""

    text: str
    etag: str


class Pointer(NamedTuple):
    """Number and manifest digest of the published generation."""

    number: int
    digest: str

    @property
    def folder(self) -> str:
        """Where the objects of this generation lie."""
        return f"{GENERATIONS}{self.number:08d}-{self.digest[:16]}"


def parse_pointer(text: str) -> Pointer:
    """What the text of a pointer says. Raises IndexStateError for a damaged one."""
    match = _POINTER.fullmatch(text)
    if not match:
        raise IndexStateError("the shared index's pointer is damaged", REBUILD_HINT)
    return Pointer(int(match[1]), match[2])


class PublishedFile(NamedTuple):
    """Size in bytes and SHA-256 of a file, as the manifest has them."""

    size: int
    sha256: str


def manifest_files(manifest: bytes, digest: str) -> dict[str, PublishedFile]:
    """The files that the manifest names. Raises IndexStateError for a manifest that does not match
    the digest, is of another version, or names what no index has.
    """
    if hashlib.sha256(manifest).hexdigest() != digest:
        raise IndexStateError(
            "the shared index is damaged: its manifest does not match its digest", REBUILD_HINT
        )
    entries = generation.parse_manifest(manifest)["files"]
    files = {
        name: PublishedFile(entry["size"], entry["sha256"]) for name, entry in entries.items()
    }
    if len(files) > MAX_FILES or sum(file.size for file in files.values()) > MAX_BYTES:
        raise IndexStateError("the shared index is larger than an index may be", REBUILD_HINT)
    for name, file in files.items():
        if not _is_plain_name(name) or file.size < 0 or not _DIGEST.fullmatch(file.sha256):
            raise IndexStateError(
                "the shared index is refused: its manifest names what no index has", REBUILD_HINT
            )
    return files


def _is_plain_name(name: str) -> bool:
    return (
        bool(_NAME.fullmatch(name))
        and not {".", ".."} & set(name.split("/"))
        and not name.endswith(".lock")
    )


def manifest_to_publish(manifest: bytes, added_files: Mapping[str, bytes]) -> bytes:
    """The manifest of a local generation as it is published: with these files, too."""
    published: JsonObject = json.loads(manifest)
    files = published["files"] | {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in added_files.items()
    }
    return json.dumps({**published, "files": files}, indent=1, sort_keys=True).encode()
