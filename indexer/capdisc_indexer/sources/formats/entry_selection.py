"""Which entries of a list a declaration takes, and what it files them under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from capdisc_indexer.sources.formats.manifest import DEFAULT_CATEGORY


def is_wanted(name: str, options: Mapping[str, Any]) -> bool:
    """Whether the patterns of `include` (none: every name) and `exclude` let the name through.

    >>> is_wanted("sql_run", {"include": ["sql_*"]}), is_wanted("sql_drop", {"exclude": "*_drop"})
    (True, False)
    """
    include, exclude = _texts(options.get("include")), _texts(options.get("exclude"))
    is_in = not include or any(fnmatchcase(name, pattern) for pattern in include)
    return is_in and not any(fnmatchcase(name, pattern) for pattern in exclude)


def categorize_names(
    names: Sequence[str], options: Mapping[str, Any], server: str
) -> dict[str, str]:
    """What each name is filed under: the longest prefix of `categories` that it begins with, else
    its server; without a server the part before its first underscore, where another name begins
    with it too.
    """
    prefixes = sorted(_texts(options.get("categories")), key=len, reverse=True)
    shared = Counter(name.partition("_")[0] for name in names if "_" in name)

    def category(name: str) -> str:
        declared = next(
            (
                prefix
                for prefix in prefixes
                if name == prefix or name.startswith(f"{prefix.rstrip('_')}_")
            ),
            "",
        )
        first_word = name.partition("_")[0] if "_" in name else ""
        return (
            declared.rstrip("_")
            or server
            or (first_word if shared[first_word] > 1 else DEFAULT_CATEGORY)
        )

    return {name: category(name) for name in names}


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [entry for entry in listed if isinstance(entry, str) and entry]
