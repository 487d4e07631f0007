"""The lines of tier 0: the categories of a catalogue, each at three lengths.

A build writes them down once for each generation; a render with filters makes them anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from capdisc_indexer.model.json_types import CapabilityCard, CategoryRecord, OverviewCard
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.text.normalization import one_line

# What an overview shows of a capability: `kind`, `name`, `category`; and, as a build keeps it,

_KIND_GROUPS = {
    "skills": frozenset({"skill"}),
    "tools": frozenset({"tool", "emergent-tool", "function", "command", "operation"}),
    "extensions": frozenset({"extension", "channel", "voice", "productivity"}),
}
_OTHER_GROUP = "others"


def summarise_categories(cards: Iterable[OverviewCard]) -> list[CategoryRecord]:
    """A record for each category, largest first, ties by name.

    Its lines are `Category: a, b, c, d (+K more) (N)`, the same with two names, and
    `Category (N)`.
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


def summarise_by_kind(cards: Iterable[OverviewCard]) -> list[CategoryRecord]:
    """The same in blocks, one for each group of kinds: skills, tools, extensions, others."""
    groups: dict[str, list[OverviewCard]] = {name: [] for name in (*_KIND_GROUPS, _OTHER_GROUP)}
    for card in cards:
        groups[_kind_group(card["kind"])].append(card)
    return [
        {
            **record,
            "category": f"{group}/{record['category']}",
            "lines": [f"{group} / {line}" for line in record["lines"]],
        }
        for group, group_cards in groups.items()
        for record in summarise_categories(group_cards)
    ]


def full_catalogue_size(cards: Iterable[CapabilityCard]) -> list[int]:
    """Tokens and characters of all capabilities in full: what an agent without an index would
    get.
    """
    sizes = [card["size"] for card in cards]
    return [sum(size[i] for size in sizes) for i in (0, 1)]


def count_kinds(cards: Iterable[OverviewCard]) -> dict[str, int]:
    """The number of capabilities of each kind, by name of the kind."""
    return dict(sorted(Counter(card["kind"] for card in cards).items()))


def _kind_group(kind: str) -> str:
    return next((name for name, kinds in _KIND_GROUPS.items() if kind in kinds), _OTHER_GROUP)


def _category_lines(category: str, names: Sequence[str]) -> list[str]:
    label, total = one_line(category, 60), len(names)
    shown = sorted(names)
    return [_category_line(label, shown, count) for count in (4, 2)] + [f"{label} ({total})"]


def _category_line(label: str, names: Sequence[str], count: int) -> str:
    remainder = f" (+{len(names) - count} more)" if len(names) > count else ""
    return f"{label}: {', '.join(names[:count])}{remainder} ({len(names)})"
