"""The plug-in that reaches an index at an address, such as s3://bucket/prefix."""

from __future__ import annotations

import re
from typing import Any

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.plugins import registry

# One slash is enough, as `Path` makes one of two.
_SCHEME = re.compile(r"([a-z][a-z0-9]+):/")


def find_store(address: str) -> Any:
    """The module that reaches this address, by its scheme; None where it is a path. Raises
    UsageError for a scheme that no plug-in has, PluginError where the plug-in cannot be loaded.
    """
    match = _SCHEME.match(address)
    if not match:
        return None
    stores = registry.find_references("stores")
    if match[1] in stores:
        return registry.load_attribute(stores[match[1]])
    if not stores:
        raise registry.missing_error("an index on an object store")
    raise UsageError(
        "an index lies in a folder or at s3://BUCKET/PREFIX", "other stores speak S3, too"
    )
