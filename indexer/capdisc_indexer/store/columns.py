"""Stores the fields that lists, costs and overviews need of every capability, in columns; and
makes the lines of tier 0 of them, the categories of a catalogue, each at three lengths.

For 80,000 capabilities the columns take 8 MB on disk and 60 ms to read; the documents take
seconds. A build writes the lines down once for each generation; a render with filters makes them
anew.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import (
    CapabilityCard,
    CategoryRecord,
    ColumnsRecord,
    NumberedColumn,
    OverviewCard,
)
from capdisc_indexer.model.records import UNCATEGORISED
from capdisc_indexer.model.types import Query
from capdisc_indexer.text.normalization import one_line

_KIND_GROUPS = {
    "skills": frozenset({"skill"}),
    "tools": frozenset({"tool", "emergent-tool", "function", "command", "operation"}),
    "extensions": frozenset({"extension", "channel", "voice", "productivity"}),
}
_OTHER_GROUP = "others"


@frozen(kw_only=True)
class Columns:
    """A value for each capability in each column, in the order of the ids.

    `tokens` and `characters` are the size of a capability in full, `listing_tokens` the tokens of
    its name and description. `hidden` holds the places (row numbers) of hidden capabilities.
    """

    ids: Sequence[str]
    names: Sequence[str]
    kinds: Sequence[str]
    categories: Sequence[str]
    tokens: Sequence[int]
    characters: Sequence[int]
    listing_tokens: Sequence[int]
    hidden: frozenset[int]

    def matching(self, query: Query) -> Sequence[int]:
        """The places of the capabilities with the query's kinds and categories; its other filters
        are ignored.
        """
        kinds = {kind.lower() for kind in query.kinds}
        categories = {category.lower() for category in query.categories}
        places: Sequence[int] = range(len(self.ids))
        if kinds:
            places = [place for place in places if self.kinds[place].lower() in kinds]
        if categories:
            places = [place for place in places if category_of(self, place).lower() in categories]
        return places

    def size(self, places: Iterable[int]) -> list[int]:
        """The total tokens and characters of these capabilities in full."""
        chosen_places = list(places)
        return [
            sum(column[place] for place in chosen_places)
            for column in (self.tokens, self.characters)
        ]

    def card(self, place: int) -> OverviewCard:
        """Kind, name and category of one capability, for an overview."""
        return {
            "kind": self.kinds[place],
            "name": self.names[place],
            "category": self.categories[place],
        }


def category_of(columns: Columns, place: int) -> str:
    """The category of one capability; "general" where it names none."""
    return columns.categories[place] or UNCATEGORISED


def is_told_by_columns(query: Query) -> bool:
    """Whether the columns suffice to answer the query's filters, without the documents."""
    return not (query.tags or query.exclude or query.max_risk or query.available)


def columns_document(cards: Mapping[str, CapabilityCard]) -> ColumnsRecord:
    """The columns as a JSON value, from the cards of all capabilities by id."""
    ids = sorted(cards)
    ordered = [cards[identifier] for identifier in ids]
    sizes = [card["size"] for card in ordered]
    return {
        "ids": ids,
        "names": [card["name"] for card in ordered],
        "kinds": _number_values([card["kind"] for card in ordered]),
        "categories": _number_values([card["category"] for card in ordered]),
        "tokens": [size[0] for size in sizes],
        "characters": [size[1] for size in sizes],
        "listing_tokens": [size[2] for size in sizes],
        "hidden": [place for place, card in enumerate(ordered) if card["hidden"]],
    }


def read_columns(document: ColumnsRecord) -> Columns:
    """The columns that `columns_document` wrote."""
    return Columns(
        ids=document["ids"],
        names=document["names"],
        kinds=_expand_values(document["kinds"]),
        categories=_expand_values(document["categories"]),
        tokens=document["tokens"],
        characters=document["characters"],
        listing_tokens=document["listing_tokens"],
        hidden=frozenset(document["hidden"]),
    )


def _number_values(values: Sequence[str]) -> NumberedColumn:
    """The different values and their numbers, since there are few kinds and categories."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return {"values": list(numbers), "numbers": [numbers[value] for value in values]}


def _expand_values(column: NumberedColumn) -> list[str]:
    values = column["values"]
    return [values[number] for number in column["numbers"]]


# What an overview shows of a capability: `kind`, `name`, `category`; and, as a build keeps it,


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
