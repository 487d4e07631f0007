"""The plug-in that reaches an index at an address, such as s3://bucket/prefix."""

from __future__ import annotations

from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.plugins import registry


def find_store(address: str) -> Any:
    """The module that reaches this address, by its scheme. Raises UsageError for a scheme that no
    plug-in has, PluginError where the plug-in cannot be loaded.
    """
    stores = registry.find_references("stores")
    scheme = address.partition(":")[0]
    if scheme in stores:
        return registry.load_attribute(stores[scheme])
    if not stores:
        raise registry.missing_error("an index on an object store")
    raise UsageError(
        "an index lies in a folder or at s3://BUCKET/PREFIX", "other stores speak S3, too"
    )
