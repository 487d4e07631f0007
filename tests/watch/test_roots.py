"""Roots that appear, disappear and turn into others."""

import shutil

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions


def test_a_root_that_is_missing_at_the_start_is_waited_for(
    watching, root, hermetic, write_skill, described
) -> None:
    """A root that is missing at the start is waited for and then followed (S210, S315)."""
    later = hermetic / "not" / "yet"
    turns = watching(root, later)
    assert next(turns).notices == (f"{later} does not exist; waiting for it",)
    write_skill(later, "beta")
    assert next(turns).notices == (f"{later} exists now",)
    assert list(described()) == ["skill:alpha", "skill:beta"]
    write_skill(later, "gamma")
    assert next(turns).report.counts["added"] == 1


def test_one_that_need_not_be_there_is_waited_for_in_silence(
    watching, root, hermetic, write_skill
) -> None:
    later = hermetic / "later"
    turns = watching(root, later, optional=frozenset([later]))
    assert next(turns).notices == ()
    write_skill(later, "beta")
    assert next(turns).report.counts["added"] == 1


def test_a_root_made_again_at_once_is_heard_again(watching, root, write_skill, described) -> None:
    turns = watching(root)
    next(turns)
    shutil.rmtree(root)
    write_skill(root, "beta")
    next(turns)
    assert list(described()) == ["skill:beta"]
    write_skill(root, "gamma")
    next(turns)
    assert list(described()) == ["skill:beta", "skill:gamma"]


def test_what_a_vanished_root_held_leaves_the_index(
    watching, root, hermetic, write_skill, described
) -> None:
    write_skill(hermetic / "other", "beta")
    turns = watching(root, hermetic / "other")
    next(turns)
    shutil.rmtree(root)
    turn = next(turns)
    assert turn.notices == (f"{root} does not exist; waiting for it",)
    assert turn.report.counts["removed"] == 1
    assert list(described()) == ["skill:beta"]
    write_skill(root, "alpha")
    assert next(turns).report.counts["added"] == 1


def test_when_all_roots_are_gone_the_index_stays_and_that_is_said_once(
    watching, root, write_skill, described
) -> None:
    turns = watching(root)
    next(turns)
    shutil.rmtree(root)
    turn = next(turns)
    assert (turn.report, len(turn.notices)) == (None, 2)
    assert "none of the folders exists" in turn.notices[1]
    assert list(described()) == ["skill:alpha"]
    write_skill(root, "beta")
    assert next(turns).report.counts["added"] == 1
    assert list(described()) == ["skill:beta"]


def test_a_start_without_any_root_waits(watching, hermetic, write_skill, described) -> None:
    turns = watching(hermetic / "later")
    assert next(turns).report is None
    write_skill(hermetic / "later", "beta")
    next(turns)
    assert list(described()) == ["skill:beta"]


def test_a_root_renamed_away_and_another_in_its_place(
    watching, root, hermetic, write_skill, described
) -> None:
    write_skill(hermetic / "other", "beta")
    turns = watching(root)
    next(turns)
    root.rename(hermetic / "away")
    (hermetic / "other").rename(root)
    next(turns)
    write_skill(root, "gamma")
    next(turns)
    assert list(described()) == ["skill:beta", "skill:gamma"]


def test_a_link_that_is_set_to_another_folder(
    watching, root, hermetic, write_skill, described
) -> None:
    write_skill(hermetic / "other", "beta")
    link = hermetic / "link"
    link.symlink_to(root)
    turns = watching(link)
    next(turns)
    (hermetic / "fresh").symlink_to(hermetic / "other")
    (hermetic / "fresh").replace(link)
    next(turns)
    assert list(described()) == ["skill:beta"]
    write_skill(hermetic / "other", "gamma")
    next(turns)
    assert list(described()) == ["skill:beta", "skill:gamma"]


def test_an_index_made_of_other_folders_is_put_right(
    watching, root, hermetic, index_dir, write_skill, described
) -> None:
    write_skill(hermetic / "other", "beta")
    turns = watching(root, interval_s=0.3)
    next(turns)
    build_index([hermetic / "other"], index_dir, BuildOptions())
    assert next(turns).notices == (f"no longer scanned: {hermetic / 'other'}",)
    assert list(described()) == ["skill:alpha"]
