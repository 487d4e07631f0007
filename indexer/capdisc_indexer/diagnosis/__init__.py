"""What is wrong with an index, and what mends it. Looks and never writes; a question each, one file a family."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer.diagnosis import folder, published, surroundings
from capdisc_indexer.diagnosis.values import Check, State, worst

__all__ = ["Check", "State", "examine", "worst"]


def examine(index_dir: Path, deep: bool, now_ns: int, builder_id: str | None = None) -> Iterator[Check]:
    """Every check that makes sense, given how the ones before it came out; `deep` reads every byte and every row. Of an
    index by another than `builder_id` (None: nobody asks) nothing is repeated, not even its folders."""
    there = folder.present(index_dir)
    yield there
    if there.state is State.UNUSABLE:
        return
    yield from folder.about(index_dir)
    found, generation = published.pointed_to(index_dir)
    if builder_id is not None and not published.is_by(index_dir, found, builder_id):
        yield published.foreign(index_dir, generation if found is None else None)
        return
    yield generation
    if found is not None:
        yield folder.leftovers(index_dir, found.number)
        yield from published.contents(index_dir, found, deep)
        yield from surroundings.about(index_dir, found, deep, now_ns)
