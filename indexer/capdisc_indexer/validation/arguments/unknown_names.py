"""Names of arguments: those that a schema does not know, with the nearest that it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from capdisc_indexer.text.normalization import one_line
from capdisc_indexer.validation.arguments.schema_walk import as_mapping


def compact_name(name: str) -> str:
    """The name without case and separators, so that spellings of it are one.

    >>> compact("base_readQuery") == compact("base-read-query") == compact("BASE_READQUERY")
    True
    """
    return "".join(filter(str.isalnum, name)).lower()


def nearest_names(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The known names that come closest, best first."""
    from difflib import get_close_matches

    by_form = {compact_name(name_text): name_text for name_text in names}
    return [
        by_form[form]
        for form in get_close_matches(compact_name(name[:100]), by_form, n=limit, cutoff=0.6)
    ]


def unknown_names(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> list[str]:
    """A problem for each name that the schema does not list; none where it says itself whether
    there may be more.
    """
    if not schema or {
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
    } & set(schema):
        return []
    if {"allOf", "anyOf", "oneOf", "if"} & set(schema):  # which may list names of their own
        return []
    declared = [str(name) for name in as_mapping(schema.get("properties"))]
    return [
        f"{one_line(name, 80)}: is unknown{suggestion(name, declared)}"
        for name in arguments
        if name not in declared
    ]


def suggestion(name: str, names: Iterable[str]) -> str:
    """`; did you mean …?`, where something comes close."""
    close = nearest_names(name, names, 1)
    return f"; did you mean {one_line(close[0], 80)}?" if close else ""
