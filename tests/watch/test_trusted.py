"""A link that appears while watching leads no further than one at the start."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from watched import Watched

from capdisc_indexer.model.types import BuildOptions, LinkRules
from capdisc_indexer.watching import WatchOptions, watch


def test_a_link_that_comes_later_is_not_followed_out(
    root, hermetic: Path, index_dir, described, write_skill
) -> None:
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


def test_what_waits_is_told_once_in_json_too(root, hermetic: Path, index_dir, write_skill) -> None:
    (hermetic / "capdisc.toml").write_text('roots = ["../outside"]\n')
    watched = Watched(root, "--index-dir", index_dir, "--debounce", "0.1").ready()
    try:
        (notice,) = watched.turns[0]["notices"]
        assert notice == "left out until the user trusts this workspace: roots; run: capdisc trust"
        assert watched.err.count("left out until you trust it: roots") == 1
    finally:
        watched.close()


def test_an_edit_behind_a_link_out_of_the_folders_is_followed(
    root, hermetic: Path, index_dir, described, write_skill
) -> None:
    outside = hermetic.parent / "outside"
    write_skill(outside, "bar", "Polishes brass. Use when asked.")
    write_skill(outside, "baz", "Polishes tin. Use when asked.")
    (root / "linked").symlink_to(outside / "bar")
    links = LinkRules(own_places=(str(root),))
    options = WatchOptions(quiet_s=0.15)
    with closing(watch([root], index_dir, BuildOptions(links=links), options)) as turns:
        next(turns)
        assert described()["skill:bar"].startswith("Polishes brass")
        write_skill(outside, "bar", "Polishes silver. Use when asked.")
        next(turns)
        assert described()["skill:bar"].startswith("Polishes silver")
        (root / "linked").unlink()
        (root / "linked").symlink_to(outside / "baz")
        while "skill:baz" not in described():
            next(turns)
        assert sorted(described()) == ["skill:alpha", "skill:baz"]
        write_skill(outside, "baz", "Polishes gold. Use when asked.")
        next(turns)
        assert described()["skill:baz"].startswith("Polishes gold")
