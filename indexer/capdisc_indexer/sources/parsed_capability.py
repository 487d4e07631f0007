"""One capability as its file has it: what the checks look at, beside the descriptor that readers
get.
"""

from __future__ import annotations

from collections.abc import Mapping

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.sources.readers.yaml_nodes import Json, MapNode


@frozen(kw_only=True)
class LongText:
    """A text that may have many lines, the file that holds it, and its first line there;
    `in_place` says that the places of its other lines are not known.
    """

    value: str
    path: str
    line: int = 1
    in_place: bool = False


@frozen(kw_only=True)
class ParsedCapability:
    """The fields with their places, and every long text that readers get; `descriptor` is None
    when it was refused.

    `long_keys` are the keys that hold or name the long texts, `schema` is that of a schema.json
    beside the manifest.
    """

    node: MapNode
    descriptor: Descriptor | None
    longs: tuple[LongText, ...] = ()
    long_keys: frozenset[str] = frozenset()
    schema: Mapping[str, Json] | None = None
    schema_path: str = ""
