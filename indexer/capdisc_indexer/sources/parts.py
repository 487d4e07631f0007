"""One capability as its file has it: what the checks look at, beside the descriptor that readers get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from capdisc_indexer.sources.nodes import Json, MapNode
from capdisc_indexer.types import Descriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The fields with their places, and the long text with where it stands; `descriptor` is None when it was refused.

    `body_path` is the file that holds the text: the manifest itself, a SKILL.md beside it, or a file that it names;
    `schema` is that of a schema.json beside it.
    """

    node: MapNode
    descriptor: Descriptor | None
    body: str = ""
    body_path: str = ""
    body_line: int = 1
    schema: Mapping[str, Json] | None = None
    schema_path: str = ""
