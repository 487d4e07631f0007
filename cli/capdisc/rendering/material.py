"""What the tiers are made from, read from the index with the counts that it stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from capdisc import asking
from capdisc.rendering.desk import Desk
from capdisc.rendering.everything import offered_heads, offered_places
from capdisc.rendering.finding import Stored, is_filtered
from capdisc_indexer.columns import is_told_by_columns
from capdisc_indexer.overview import by_kind, overview
from capdisc_indexer.render.counting import learn, learn_guidance
from capdisc_indexer.render.format import Format
from capdisc_indexer.tiers import Guidance
from capdisc_indexer.tokens import TokenCounter
from capdisc_indexer.types import Descriptor, Query


def learnt(counter: TokenCounter, form: Format, stored: Sequence[Stored]) -> list[Descriptor]:
    """The capabilities, their counts given to the counter."""
    for descriptor, counts in stored:
        learn(counter, form, descriptor, counts)
    return [descriptor for descriptor, _ in stored]


def overview_lines(asked: asking.Asked, query: Query, kinds_first: bool) -> list[dict[str, Any]]:
    """The lines of the overview: as the build made them, or anew of what passes the filters."""
    if not kinds_first and not is_filtered(query):
        categories: list[dict[str, Any]] = asked.index.meta("overview")["categories"]
        return categories
    cards = _cards(asked, query)
    return by_kind(cards) if kinds_first else overview(cards)


def _cards(asked: asking.Asked, query: Query) -> Iterator[dict[str, Any]]:
    """Kind, name and category of what may be shown."""
    columns, places = asked.index.columns, offered_places(asked, query)
    if is_told_by_columns(query):
        return map(columns.card, places)
    heads = offered_heads(asked, query, [columns.ids[place] for place in places])
    return ({key: head.get(key, "") for key in ("kind", "name", "category")} for head in heads)


def missing(asked: asking.Asked, descriptors: Sequence[Descriptor]) -> dict[str, tuple[str, ...]]:
    """What each lacks here: secrets, programs, the system."""
    needs = {d.id: {"secrets": d.secrets, "bins": d.bins, "systems": d.systems} for d in descriptors}
    lacking = {identifier: asking.missing(asked.here, each) for identifier, each in needs.items()}
    return {identifier: names for identifier, names in lacking.items() if names}


def guidance(desk: Desk, descriptors: Iterable[Descriptor]) -> dict[str, Guidance]:
    """What is to be known of the categories of these, by category in one case."""
    found = desk.asked.index.guidance(d.category for d in descriptors)
    if found:
        texts = {each["category"]: each["text"] for each in found.values()}
        learn_guidance(desk.counter, desk.form, desk.asked.index.meta("guidance")["counts"], texts)
    return {name: Guidance(category=each["category"], text=each["text"]) for name, each in found.items()}
