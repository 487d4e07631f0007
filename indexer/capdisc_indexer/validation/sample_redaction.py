"""Samples of tables without the values that look like secret keys: an index is no place for
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.frozen import replace
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.validation.secret_keys import key_spans


def redact_samples(descriptor: Descriptor) -> Descriptor:
    """The same without such values; what they were taken from is no longer complete."""
    extra = descriptor.extra
    if not any(_is_key(value) for value in _values(extra)):
        return descriptor
    rows = [[None if _is_key(value) else value for value in row] for row in extra.get("rows", ())]
    samples = {
        name: _redact_values(column_values)
        for name, column_values in extra.get("samples", {}).items()
    }
    return replace(descriptor, extra={**extra, "samples": samples, "rows": rows, "complete": False})


def _values(extra: Mapping[str, Any]) -> list[Any]:
    if "samples" not in extra:
        return []
    return [
        value for column_values in extra["samples"].values() for value in column_values["values"]
    ] + [value for row in extra.get("rows", ()) for value in row]


def _redact_values(column_values: Mapping[str, Any]) -> dict[str, Any]:
    values = [value for value in column_values["values"] if not _is_key(value)]
    return {
        **column_values,
        "values": values,
        "complete": column_values["complete"] and len(values) == len(column_values["values"]),
    }


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and next(key_spans(value), None) is not None
