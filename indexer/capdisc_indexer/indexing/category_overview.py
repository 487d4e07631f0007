"""The lines of tier 0: the categories of a catalogue, each at four lengths.

A build writes them down once for each generation; a render with filters makes them itself. What
names no category stands under the folder that holds it, or under its kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from capdisc_indexer.model.json_types import CategoryRecord, OverviewCard
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Descriptor
from capdisc_indexer.text.normalization import one_line

# Of more capabilities no line names all.
MAX_NAMED = 300
# How many names the shorter lines show; the shortest shows none.
_SHOWN_NAMES = (4, 2)
# Folders that many catalogues have and that say nothing about what they hold.
_GENERIC_FOLDERS = frozenset(
    "skills skill capabilities commands agents tools plugins plugin cache marketplaces components "
    "packages src docs examples".split()
)
# The files that have a folder of their own; the group is the folder around it.
FOLDER_FILES = frozenset({"skill.md", "capability.yaml", "capability.yml"})
_KIND_GROUPS = {
    "skills": frozenset({"skill"}),
    "tools": frozenset({"tool", "function", "command", "operation", "endpoint", "cli"}),
    "extensions": frozenset({"extension", "channel", "voice", "productivity"}),
}
_OTHER_GROUP = "others"


def find_category(descriptor: Descriptor) -> str:
    """The category that lists and overviews show: the declared one, else the nearest folder below
    the root that has a name of its own (a plugin, a package), else the kind.
    """
    if descriptor.category and descriptor.category != UNCATEGORISED:
        return descriptor.category
    path, root = PurePath(descriptor.source.path), descriptor.source.root
    folders = path.relative_to(root).parts[:-1] if root and path.is_relative_to(root) else ()
    if path.name.lower() in FOLDER_FILES:
        folders = folders[:-1]
    for folder in reversed(folders):
        if folder.lower() not in _GENERIC_FOLDERS and folder[0].isalpha():
            return one_line(folder, 60)
    return f"{descriptor.kind}s"


def summarise_categories(cards: Iterable[OverviewCard]) -> list[CategoryRecord]:
    """A record for each category, largest first, ties by name.

    Its lines are `Category: a, b, c (N)` with all names, which a large catalogue does not have,
    then `Category: a, b, c, d (+K more) (N)`, the same with two names, and `Category (N)`.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for card in cards:
        names[card["category"]].append(one_line(card["name"], 60))
    order = sorted(names, key=lambda category: (-len(names[category]), category))
    total = sum(map(len, names.values()))
    counts = (*((total,) if total <= MAX_NAMED else ()), *_SHOWN_NAMES)
    return [
        {
            "category": category,
            "count": len(names[category]),
            "lines": _category_lines(category, names[category], counts),
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


def _kind_group(kind: str) -> str:
    """The group that the kind or a part of its name belongs to: `mcp_tool` is one of the tools."""
    words = kind.replace("_", "-").split("-")
    return next(
        (name for name, kinds in _KIND_GROUPS.items() if not kinds.isdisjoint(words)),
        _OTHER_GROUP,
    )


def _category_lines(category: str, names: Sequence[str], counts: Sequence[int]) -> list[str]:
    label, total = one_line(category, 60), len(names)
    shown = sorted(names)
    return [_category_line(label, shown, count) for count in counts] + [f"{label} ({total})"]


def _category_line(label: str, names: Sequence[str], count: int) -> str:
    remainder = f" (+{len(names) - count} more)" if len(names) > count else ""
    return f"{label}: {', '.join(names[:count])}{remainder} ({len(names)})"
