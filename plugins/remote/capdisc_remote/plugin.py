"""What this plug-in adds: an index on an object store."""

from __future__ import annotations

from capdisc_indexer.plugins.plugin import Plugin

PLUGIN = Plugin(name="remote", stores={"s3": "capdisc_remote.store_access"})
