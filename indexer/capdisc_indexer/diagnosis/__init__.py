"""What is wrong with an index, and the command that mends it. Checks only read.

`published_generation` checks the index folder and what is published in it, `surroundings` what the
index depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from capdisc_indexer.diagnosis import published_generation, surroundings
from capdisc_indexer.diagnosis.surroundings import Check, CheckState, worst_state

__all__ = ["Check", "CheckState", "examine_index", "worst_state"]


def examine_index(
    index_dir: Path, deep: bool, now_ns: int, builder_id: str | None = None
) -> Iterator[Check]:
    """The checks of a local index, as far as the results of earlier checks allow them; `deep`
    reads every byte and every row.

    Of an index by another builder than `builder_id` (None: any builder) nothing is printed, not
    even its folders.
    """
    presence = published_generation.examine_presence(index_dir)
    yield presence
    if presence.state is CheckState.UNUSABLE:
        return
    yield from published_generation.examine_folder(index_dir)
    manifest, generation = published_generation.examine_pointer(index_dir)
    if builder_id is not None and not published_generation.is_built_by_user(
        index_dir, manifest, builder_id
    ):
        yield published_generation.foreign_check(
            index_dir, generation if manifest is None else None
        )
        return
    yield generation
    if manifest is not None:
        yield published_generation.examine_leftovers(index_dir, manifest.number)
        yield from published_generation.examine_contents(index_dir, manifest, deep)
        if deep:
            yield published_generation.examine_table(index_dir)
        yield from surroundings.examine_surroundings(index_dir, manifest, deep, now_ns)
