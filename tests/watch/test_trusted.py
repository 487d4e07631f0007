"""A link that comes while folders are watched leads no further than it might have at the start."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from capdisc_indexer.types import BuildOptions
from capdisc_indexer.watching import WatchOptions, watch


def test_a_link_that_comes_later_is_not_followed_out(root, hermetic: Path, index_dir, described, write_skill) -> None:
    outside, later = hermetic.parent / "outside", hermetic / "later"
    write_skill(outside, "private")
    write_skill(hermetic / "more", "knit")
    options = BuildOptions(confined={str(later): (str(hermetic),)})
    with closing(watch([root, later], index_dir, options, WatchOptions(quiet_s=0.15))) as turns:
        next(turns)
        later.symlink_to(outside)
        write_skill(root, "beta")
        while "skill:beta" not in described():
            next(turns)
        assert sorted(described()) == ["skill:alpha", "skill:beta"]
        later.unlink()
        later.symlink_to(hermetic / "more")
        while "skill:knit" not in described():
            next(turns)
        assert sorted(described()) == ["skill:alpha", "skill:beta", "skill:knit"]
