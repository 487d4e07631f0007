"""What a loader kept about a table, an API or a document beside its text, read value by value.

A loader of data keeps it in `extra`; who writes a manifest by hand may put the same keys below
`metadata`. Nothing vouches for the shape of a value, so each reader here gives one plain type, and
something empty for a value of any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line

# What is kept of a capability, by key. A value has whatever shape its author gave it.
Metadata: TypeAlias = Mapping[str, object]


def capability_metadata(descriptor: Descriptor) -> Metadata:
    """Everything that is kept of a capability; what a loader found wins over what an author wrote
    below `metadata`.
    """
    return {**mapping_value(descriptor.extra, "metadata"), **descriptor.extra}


def text_value(metadata: Metadata, key: str) -> str:
    """The text or number under a key, on one line; "" where there is none."""
    value = metadata.get(key)
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return one_line(str(value)) if is_text else ""


def int_value(metadata: Metadata, key: str) -> int | None:
    """The whole number under a key."""
    value = metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def record_list(metadata: Metadata, key: str) -> list[Metadata]:
    """The mappings in the list under a key."""
    return [record for record in sequence_value(metadata, key) if isinstance(record, Mapping)]


def mapping_value(metadata: Metadata, key: str) -> Metadata:
    """The mapping under a key, or an empty one."""
    value = metadata.get(key)
    return value if isinstance(value, Mapping) else {}


def sequence_value(metadata: Metadata, key: str) -> list[Any] | tuple[Any, ...]:
    """The list or tuple under a key, or an empty one."""
    value = metadata.get(key)
    return value if isinstance(value, list | tuple) else ()


def text_list(metadata: Metadata, key: str) -> list[str]:
    """The texts under a key, each on one line; a single text is split at its commas."""
    value = metadata.get(key)
    parts = value.split(",") if isinstance(value, str) else sequence_value(metadata, key)
    return [one_line(str(part)) for part in parts if str(part).strip()]
