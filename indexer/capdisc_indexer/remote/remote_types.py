"""Where a shared index lies: its address, how it is reached, and the folders here that belong to
it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from capdisc_indexer.model.errors import IndexStateError, UsageError
from capdisc_indexer.model.frozen import field, frozen

_SCHEME = re.compile(r"([a-z][a-z0-9]+):/+")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}")
_PART = re.compile(r"[A-Za-z0-9_=+@,!() -][A-Za-z0-9._=+@,!() -]{0,200}")


class StoreError(IndexStateError):
    """The object store refused, or did not answer."""


class MissingObjectError(StoreError):
    """The object store has no such object."""


@frozen(kw_only=True)
class StoreAccess:
    """How the store is reached: options as object_store and LanceDB name them, secrets among them,
    never printed.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    allow_http: bool = False

    def __repr__(self) -> str:
        return f"Access(endpoint={self.endpoint!r})"

    @property
    def endpoint(self) -> str:
        """The server, empty for that of AWS."""
        return self.options.get("aws_endpoint_url", "")


@frozen(kw_only=True)
class SharedIndex:
    """One shared index. `top` is the folder here for its copy; for `fresh_for_s` seconds after a
    look at the store the copy answers without another.
    """

    bucket: str
    prefix: str
    top: Path
    access: StoreAccess = field(default_factory=StoreAccess)
    fresh_for_s: float = 0.0

    @property
    def url(self) -> str:
        """The address as people write it."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def copy(self) -> Path:
        """The index folder that searches here read."""
        return self.top / "copy"

    @property
    def work(self) -> Path:
        """The index folder that builds here write."""
        return self.top / "work"


def is_remote(text: str) -> bool:
    """Whether this is the address of a store rather than a folder; `Path` makes one slash of two.

    >>> is_remote("s3://team/index"), is_remote("s3:/team/index"), is_remote("./s3")
    (True, True, False)
    """
    return _SCHEME.match(text) is not None


def parse_address(text: str) -> tuple[str, str]:
    """Bucket and prefix. Raises UsageError for what is no plain address of a bucket."""
    match = _SCHEME.match(text)
    if match is None or match[1] != "s3":
        raise UsageError(
            "an index lies in a folder or at s3://BUCKET/PREFIX", "other stores speak S3, too"
        )
    bucket, _, prefix = text[match.end() :].partition("/")
    parts = [part for part in prefix.split("/") if part]
    if not _BUCKET.fullmatch(bucket) or not all(map(_PART.fullmatch, parts)):
        raise UsageError(
            "this is no address of a shared index", "write s3://BUCKET/PREFIX, of plain letters"
        )
    return bucket, "/".join(parts)


def cache_folder(text: str, endpoint: str, cache_home: Path) -> Path:
    """The folder here that belongs to the address; one bucket's name may be on several servers."""
    bucket, prefix = parse_address(text)
    digits = hashlib.sha256(f"{endpoint}\n{bucket}/{prefix}".encode()).hexdigest()[:16]
    return cache_home / "capdisc" / "shared" / f"{bucket}-{digits}"
