"""Which states, columns and overview has the generation that follows from the last one by a few files
that changed, came or are gone?
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from capdisc_indexer.graph.interfaces import KINDS_WITHOUT_INTERFACE
from capdisc_indexer.indexing.category_overview import count_kinds, summarise_categories
from capdisc_indexer.indexing.change_detection import StatesByPath
from capdisc_indexer.indexing.changed_tree import WiderChangeError, require
from capdisc_indexer.indexing.previous_build import NearestText, repeat_scan_record
from capdisc_indexer.indexing.small_change import SmallChange
from capdisc_indexer.model.frozen import frozen
from capdisc_indexer.model.json_types import CapabilityCard, Overview
from capdisc_indexer.rendering.token_accounting import frame_counts
from capdisc_indexer.store import publication
from capdisc_indexer.store.column_writer import edit_columns, read_ids
from capdisc_indexer.store.columns import Columns, read_columns
from capdisc_indexer.store.file_states import FileState
from capdisc_indexer.text.token_counts import TokenCounter

Cards = Mapping[str, CapabilityCard]


@frozen(kw_only=True)
class CardChanges:
    """The cards that differ, by id, before and now. With `only_sizes` they are of the same
    capabilities, and have other sizes alone.
    """

    before: Cards
    now: Cards
    only_sizes: bool


def compare_cards(old_states: StatesByPath, states: StatesByPath) -> CardChanges:
    """What changes in lists and overviews. Raises WiderChangeError where a capability may have
    parameters, which other ones may provide.
    """
    before, now = _cards_by_id(old_states), _cards_by_id(states)
    is_same = {key: before.get(key) == card for key, card in now.items()}
    only_sizes = before.keys() == now.keys() and all(
        {**card, "size": 0} == {**now[key], "size": 0} for key, card in before.items()
    )
    if not only_sizes:
        kinds = {card["kind"] for card in (*before.values(), *now.values())}
        require(kinds <= KINDS_WITHOUT_INTERFACE)
    return CardChanges(
        before={key: card for key, card in before.items() if not is_same.get(key)},
        now={key: card for key, card in now.items() if not is_same[key]},
        only_sizes=only_sizes,
    )


def _cards_by_id(states: StatesByPath) -> dict[str, CapabilityCard]:
    """Raises WiderChangeError for a capability without a card, or one that is not indexed."""
    cards: dict[str, CapabilityCard] = {}
    for state in states.values():
        for declared in state.declared_ids:
            if declared.card is None:
                raise WiderChangeError
            # Lists as a stored card has them.
            cards[declared.resolved_id] = json.loads(json.dumps(declared.card))
    return cards


def write_patched_metadata(
    change: SmallChange,
    target: Path,
    source: Path,
    states: Mapping[str, FileState],
    cards: CardChanges,
    nearest: Sequence[NearestText],
    counter: TokenCounter,
) -> None:
    """Writes the metadata of the next generation into `target`: that in `source`, with these
    states, cards and nearest texts.
    """
    plan = change.plan
    target.mkdir()
    lines, removed = change.lines, change.removed.keys()
    lines.write(target / "files.json", {**change.restamped, **states}.values(), removed)
    _write_json(target / "scan.json", repeat_scan_record(change.scan, plan.scanned_at_ns))
    written = {"files.json", "scan.json"}
    if nearest is not plan.previous.nearest:
        _write_json(target / "probes.json", nearest)
        written.add("probes.json")
    if cards.before or cards.now:
        if cards.only_sizes:
            _patch_sizes(source, target, cards)
        else:
            _edit_cards(source, target, cards, counter)
        written |= {"columns.json", "overview.json"}
    for path in source.iterdir():
        if path.name not in written:
            publication.link_file(path, target / path.name)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


# Other capabilities than before, or other names and categories.


def _edit_cards(source: Path, target: Path, cards: CardChanges, counter: TokenCounter) -> None:
    """Writes the columns and the overview with these cards."""
    columns = read_columns(json.loads((source / "columns.json").read_bytes()))
    removed_ids = cards.before.keys() - cards.now.keys()
    document = edit_columns(columns, cards.now, removed_ids)
    _write_json(target / "columns.json", document)
    overview: Overview = json.loads((source / "overview.json").read_bytes())
    new_overview = _make_overview(overview, read_columns(document), counter)
    _write_json(target / "overview.json", new_overview)


def _make_overview(last: Overview, columns: Columns, counter: TokenCounter) -> Overview:
    """The overview of these columns; the tokens of most lines are known from the last one."""
    known = last["counts"]
    places = range(len(columns.ids))
    visible = [place for place in places if place not in columns.hidden]
    categories = summarise_categories(map(columns.card, visible))

    def count_tokens(text: str) -> int:
        return known[text] if text in known else counter.exact(text)

    return {
        "categories": categories,
        "kinds": count_kinds(map(columns.card, places)),
        "static": columns.size(visible),
        "guided": last["guided"],
        "counts": frame_counts(count_tokens, categories),
    }


# Other sizes of the same capabilities.


def _patch_sizes(source: Path, target: Path, cards: CardChanges) -> None:
    columns, overview = (source / name for name in ("columns.json", "overview.json"))
    (target / columns.name).write_bytes(_patch_columns(columns.read_bytes(), cards.now))
    (target / overview.name).write_bytes(_patch_overview(overview.read_bytes(), cards))


def _patch_columns(data: bytes, cards: Cards) -> bytes:
    """The columns with the new sizes. Raises ValueError for columns of another form."""
    ids = read_ids(data)
    places = {identifier: bisect_left(ids, identifier) for identifier in cards}
    require(all(ids[place] == identifier for identifier, place in places.items()))
    for part, column in enumerate(("tokens", "characters", "listing_tokens")):
        sizes = {place: cards[identifier]["size"][part] for identifier, place in places.items()}

        def put_sizes(numbers: list[bytes], sizes: Mapping[int, int] = sizes) -> None:
            for place, size in sizes.items():
                numbers[place] = b"%d" % size

        data = _replace_numbers(data, column, put_sizes)
    return data


def _patch_overview(data: bytes, cards: CardChanges) -> bytes:
    """The overview with the new size of the whole catalogue. Raises ValueError for one of another
    form.
    """

    def add_differences(numbers: list[bytes]) -> None:
        for part in (0, 1):
            difference = sum(
                card["size"][part] - cards.before[identifier]["size"][part]
                for identifier, card in cards.now.items()
                if not card["hidden"]
            )
            numbers[part] = b"%d" % (int(numbers[part]) + difference)

    return _replace_numbers(data, "static", add_differences)


def _replace_numbers(data: bytes, key: str, change: Callable[[list[bytes]], None]) -> bytes:
    """The JSON text with changed numbers in the list of this key, which occurs once: a quote inside
    a string has a backslash before it. Raises ValueError where there is no such list.
    """
    start = data.index(b'"%b": [' % key.encode()) + len(key) + 5
    end = data.index(b"]", start)
    numbers = data[start:end].split(b", ")
    change(numbers)
    return data[:start] + b", ".join(numbers) + data[end:]
