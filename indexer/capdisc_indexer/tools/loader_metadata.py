"""What a loader kept about a table, an API or a document beside the text, whatever shape it came
in.

Loaders of data keep it in `extra`; who writes a manifest by hand may give the same keys below
`metadata`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line, strip_controls

DESCRIPTION_CHARACTERS = 300
CELL_CHARACTERS = 500


def capability_metadata(descriptor: Descriptor) -> dict[str, Any]:
    """All that is kept, what a loader found before what an author wrote."""
    written = descriptor.extra.get("metadata")
    return {**(written if isinstance(written, Mapping) else {}), **descriptor.extra}


def text_value(facts: Mapping[str, Any], key: str) -> str:
    """The text of one line under a key; empty where there is none."""
    value = facts.get(key)
    return (
        one_line(str(value))
        if isinstance(value, str | int | float) and not isinstance(value, bool)
        else ""
    )


def int_value(facts: Mapping[str, Any], key: str) -> int | None:
    """The whole number under a key."""
    value = facts.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def record_list(facts: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The mappings in the list under a key."""
    value = facts.get(key)
    return (
        [record for record in value if isinstance(record, Mapping)]
        if isinstance(value, (list, tuple))
        else []
    )


def mapping_value(facts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key, or an empty one."""
    value = facts.get(key)
    return value if isinstance(value, Mapping) else {}


def text_list(facts: Mapping[str, Any], key: str) -> list[str]:
    """The texts under a key; one text is split at its commas."""
    value = facts.get(key)
    parts = (
        value.split(",")
        if isinstance(value, str)
        else value
        if isinstance(value, (list, tuple))
        else ()
    )
    return [one_line(str(part)) for part in parts if str(part).strip()]


def cell_value(value: Any) -> Any:
    """A value of a table as JSON has it: long texts cut, anything inside it as text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    shown = strip_controls(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    )
    return shown if len(shown) <= CELL_CHARACTERS else shown[: CELL_CHARACTERS - 1] + "…"


def short_description(header: Mapping[str, Any] | Descriptor) -> str:
    """The description on one line."""
    description = header.description if isinstance(header, Descriptor) else header["description"]
    return one_line(description, DESCRIPTION_CHARACTERS)
