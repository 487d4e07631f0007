"""An index on an object store, which one machine builds and many read: its address, and its copy
here. The code that reaches it belongs to a plug-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from capdisc_indexer.model.frozen import field, frozen


@frozen(kw_only=True)
class StoreAccess:
    """How the store is reached. `options` have the names that object_store and LanceDB give them;
    secrets are among them, and they are never printed.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    allow_http: bool = False

    def __repr__(self) -> str:
        return f"StoreAccess(endpoint={self.endpoint!r})"

    @property
    def endpoint(self) -> str:
        """The URL of the server; "" for that of AWS."""
        return self.options.get("aws_endpoint_url", "")


@frozen(kw_only=True)
class SharedIndex:
    """One shared index. `top` is the folder here that holds its copy. For `fresh_for_s` seconds
    after a check of the store, the copy answers without another one.
    """

    bucket: str
    prefix: str
    top: Path
    access: StoreAccess = field(default_factory=StoreAccess)
    fresh_for_s: float = 0.0

    @property
    def provenance_warning(self) -> str:
        """Why nothing is run from it."""
        return f"it is a copy of {self.url}, which others write"

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
