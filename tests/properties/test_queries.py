"""Any query has an answer or a message, and neither steers a terminal."""

import random
import threading

import pytest
from hostile_queries import TABLE, answered, faults

from capdisc_indexer import encoders
from capdisc_indexer.store.snapshot import Index
from hostile.commands import STACK_BYTES


def in_small_stack(work):
    """What the work gives in a thread with a stack as small as some servers' are."""
    before, given = threading.stack_size(STACK_BYTES), []
    try:
        thread = threading.Thread(target=lambda: given.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    return given[0]


@pytest.mark.parametrize("asked", TABLE, ids=lambda asked: asked.name)
def test_a_hostile_query_is_answered_or_refused_in_words(asked, small, hermetic) -> None:
    assert in_small_stack(lambda: faults(asked, small)) == []
    assert list(hermetic.iterdir()) == []


def test_a_query_made_by_chance_is_answered(indexed_catalogs) -> None:
    rng, encoder = random.Random(1), encoders.load_encoder()
    with Index(indexed_catalogs["small"]) as index:
        assert [told for _ in range(300) if (told := answered(rng, index, encoder))] == []
