"""Trust as a test's user would give it."""

from pathlib import Path

from capdisc.context import surroundings
from capdisc_indexer.store import generation


def adopt(index_dir: Path) -> Path:
    """The index folder, once the user of this test believes it: what the core built, no state remembers."""
    found = generation.load_unchecked(index_dir)
    assert found is not None
    generation.remember_builder_id(
        surroundings.current_runtime().trust_dir, index_dir, found.builder_id
    )
    return index_dir
