"""Which places of a YAML text are outside its values: a `#` inside a block or between quotes begins no comment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Set

import yaml

from capdisc_indexer.sources.repair import MAX_CHARACTERS, repair
from capdisc_indexer.sources.yaml_reader import BREAKS, MAX_EVENTS

Place = tuple[int, int]


def outside_values(text: str, places: Set[Place]) -> Set[Place]:
    """Those of the places (line and column, counted from 0) that stand in no key and no value, as the text is read.

    In doubt a place is inside: in a line that is read only once it is repaired, and in a text that is no YAML at all.

    >>> sorted(outside_values("a: b # c\\nd: |  # e\\n  # f\\n", {(0, 5), (1, 6), (2, 2)}))
    [(0, 5), (1, 6)]
    """
    plain = BREAKS.sub(" ", text)
    try:
        return _free(plain, places)
    except (yaml.YAMLError, UnicodeError):
        pass
    if len(text) > MAX_CHARACTERS:
        return frozenset()
    repaired = repair(plain)[0]
    same = {n for n, (old, new) in enumerate(zip(plain.split("\n"), repaired.split("\n"), strict=True)) if old == new}
    try:
        return _free(repaired, {place for place in places if place[0] in same})
    except (yaml.YAMLError, UnicodeError):
        return frozenset()


def _free(text: str, places: Set[Place]) -> Set[Place]:
    ordered = sorted(places)
    inside: set[Place] = set()
    for start, end in _values(text):
        inside.update(ordered[bisect_left(ordered, start) : bisect_left(ordered, end)])
    return places - inside


def _values(text: str) -> Iterator[tuple[Place, Place]]:
    """Where each scalar begins and ends. The line of a block's mark can end with a comment."""
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parser = loader(text)
    try:
        for _ in range(MAX_EVENTS):
            event: yaml.Event = parser.get_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark:
                start, end = event.start_mark, event.end_mark
                first = (start.line + 1, 0) if event.style in ("|", ">") else (start.line, start.column)
                yield first, (end.line, end.column)
    finally:
        parser.dispose()
    raise yaml.YAMLError("more values than are read")
