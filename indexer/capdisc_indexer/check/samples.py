"""Samples of tables without the values that look like secret keys: an index is no place for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.check.secret_keys import keys
from capdisc_indexer.frozen import replace
from capdisc_indexer.types import Descriptor


def without_keys(descriptor: Descriptor) -> Descriptor:
    """The same without such values; what they were taken from is no longer complete."""
    extra = descriptor.extra
    if not any(_is_key(value) for value in _values(extra)):
        return descriptor
    rows = [[None if _is_key(value) else value for value in row] for row in extra.get("rows", ())]
    samples = {name: _kept(each) for name, each in extra.get("samples", {}).items()}
    return replace(descriptor, extra={**extra, "samples": samples, "rows": rows, "complete": False})


def _values(extra: Mapping[str, Any]) -> list[Any]:
    if "samples" not in extra:
        return []
    return [value for each in extra["samples"].values() for value in each["values"]] + [
        value for row in extra.get("rows", ()) for value in row
    ]


def _kept(each: Mapping[str, Any]) -> dict[str, Any]:
    values = [value for value in each["values"] if not _is_key(value)]
    return {**each, "values": values, "complete": each["complete"] and len(values) == len(each["values"])}


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and next(keys(value), None) is not None
