"""One callable thing, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.frozen import field, frozen


@frozen(kw_only=True)
class Definition:
    """What a model is told of a function. `id` is a capability's, or `capdisc:name` of a discovery
    tool, whose name no capability may take; `schema` is as its author wrote it; `annotations` are
    MCP's hints.
    """

    id: str
    name: str
    description: str
    schema: Mapping[str, Any] | None
    kind: str
    title: str = ""
    is_available: bool = True
    is_ours: bool = False
    annotations: Mapping[str, Any] = field(default_factory=dict)
