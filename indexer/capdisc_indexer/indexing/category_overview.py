"""Tier 0's lines: the categories of the catalogue, each at three lengths, made once a
generation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from capdisc_indexer.model.json_types import CategoryRecord
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.text.normalization import one_line

_KIND_GROUPS = {
    "skills": frozenset({"skill"}),
    "tools": frozenset({"tool", "emergent-tool", "function", "command", "operation"}),
    "extensions": frozenset({"extension", "channel", "voice", "productivity"}),
}
_OTHER_GROUP = "others"


def summarise_categories(cards: Iterable[Mapping[str, Any]]) -> list[CategoryRecord]:
    """One entry a category, most capabilities first, ties by name; `lines` go from long to short.

    `Category: a, b, c, d (+K more) (N)`, then with two names, then with the number alone.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for card in cards:
        names[card["category"] or UNCATEGORISED].append(one_line(card["name"], 60))
    order = sorted(names, key=lambda category: (-len(names[category]), category))
    return [
        {
            "category": category,
            "count": len(names[category]),
            "lines": _category_lines(category, names[category]),
        }
        for category in order
    ]


def _category_lines(category: str, names: list[str]) -> list[str]:
    label, total = one_line(category, 60), len(names)
    shown = sorted(names)
    return [_category_line(label, shown, count) for count in (4, 2)] + [f"{label} ({total})"]


def _category_line(label: str, names: list[str], count: int) -> str:
    remainder = f" (+{len(names) - count} more)" if len(names) > count else ""
    return f"{label}: {', '.join(names[:count])}{remainder} ({len(names)})"


def full_catalogue_size(cards: Iterable[Mapping[str, Any]]) -> list[int]:
    """Tokens and characters of all capabilities in full, which is what an agent without an index
    is given.
    """
    sizes = [card["size"] for card in cards]
    return [sum(size[i] for size in sizes) for i in (0, 1)]


def summarise_by_kind(cards: Iterable[Mapping[str, Any]]) -> list[CategoryRecord]:
    """The same in blocks, one a group of kinds: skills, tools, extensions, and the others."""
    groups: dict[str, list[Mapping[str, Any]]] = {
        name: [] for name in (*_KIND_GROUPS, _OTHER_GROUP)
    }
    for card in cards:
        groups[
            next(
                (name for name, kinds in _KIND_GROUPS.items() if card["kind"] in kinds),
                _OTHER_GROUP,
            )
        ].append(card)
    return [
        {
            **entry,
            "category": f"{name}/{entry['category']}",
            "lines": [f"{name} / {line}" for line in entry["lines"]],
        }
        for name, group in groups.items()
        for entry in summarise_categories(group)
    ]


def count_kinds(cards: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many capabilities there are of each kind."""
    return dict(sorted(Counter(card["kind"] for card in cards).items()))
