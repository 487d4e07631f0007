"""Makes the columns of a generation from the cards of its capabilities, or from the last columns."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from capdisc_indexer.model.json_types import CapabilityCard, ColumnsRecord, NumberedColumn
from capdisc_indexer.store.columns import Columns


class _Row(NamedTuple):
    """The values of one capability in all columns."""

    name: str
    kind: str
    category: str
    tokens: int
    characters: int
    listing_tokens: int
    is_general: bool
    is_hidden: bool


def columns_document(cards: Mapping[str, CapabilityCard]) -> ColumnsRecord:
    """The columns as a JSON value, from the cards of all capabilities by id."""
    ids = sorted(cards)
    return _write_columns(ids, [_make_row(cards[identifier]) for identifier in ids])


def edit_columns(
    columns: Columns, cards: Mapping[str, CapabilityCard], removed_ids: Iterable[str]
) -> ColumnsRecord:
    """The same, from the columns of before: with these cards of known and new capabilities, and
    without the removed ones. Raises ValueError for a removed one that is unknown.
    """
    places = range(len(columns.ids))
    ids = list(columns.ids)
    rows = list(
        map(
            _Row,
            columns.names,
            columns.kinds,
            columns.categories,
            columns.tokens,
            columns.characters,
            columns.listing_tokens,
            map(columns.general.__contains__, places),
            map(columns.hidden.__contains__, places),
        )
    )
    for identifier in removed_ids:
        place = bisect_left(ids, identifier)
        if ids[place : place + 1] != [identifier]:
            raise ValueError(f"no stored card: {identifier}")
        del ids[place], rows[place]
    for identifier, card in cards.items():
        place = bisect_left(ids, identifier)
        end = place + (ids[place : place + 1] == [identifier])
        ids[place:end], rows[place:end] = [identifier], [_make_row(card)]
    return _write_columns(ids, rows)


def read_ids(data: bytes) -> list[str]:
    """The ids of written columns, without the other columns. Raises ValueError for other content."""
    end = data.index(b'], "names": [') + 1
    ids: list[str] = json.loads(data[len(b'{"ids": ') : end])
    return ids


def _make_row(card: CapabilityCard) -> _Row:
    tokens, characters, listing_tokens = card["size"]
    return _Row(
        card["name"],
        card["kind"],
        card["category"],
        tokens,
        characters,
        listing_tokens,
        card["is_general"],
        card["hidden"],
    )


def _write_columns(ids: list[str], rows: Sequence[_Row]) -> ColumnsRecord:
    return {
        "ids": ids,
        "names": [row.name for row in rows],
        "kinds": _number_values([row.kind for row in rows]),
        "categories": _number_values([row.category for row in rows]),
        "tokens": [row.tokens for row in rows],
        "characters": [row.characters for row in rows],
        "listing_tokens": [row.listing_tokens for row in rows],
        "general": [place for place, row in enumerate(rows) if row.is_general],
        "hidden": [place for place, row in enumerate(rows) if row.is_hidden],
    }


def _number_values(values: Sequence[str]) -> NumberedColumn:
    """The different values and their numbers, since there are few kinds and categories."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return {"values": list(numbers), "numbers": [numbers[value] for value in values]}
