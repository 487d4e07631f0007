"""Roots that appear, disappear and turn into others."""

import shutil

import pytest

from capdisc_indexer.indexing.pipeline import build_index
from capdisc_indexer.model.types import BuildOptions


@pytest.mark.parametrize("is_optional", [False, True])
def test_a_root_that_is_missing_at_the_start_is_waited_for(
    watching, root, hermetic, write_skill, described, is_optional
) -> None:
    """A root that is missing at the start is waited for and then followed (S210, S315); in silence
    where it need not be there.
    """
    later = hermetic / "not" / "yet"
    turns = watching(root, later, optional=frozenset([later] if is_optional else ()))
    waiting = () if is_optional else (f"{later} does not exist; waiting for it",)
    assert next(turns).notices == waiting
    write_skill(later, "beta")
    assert next(turns).notices == (f"{later} exists now",)
    assert list(described()) == ["skill:alpha", "skill:beta"]
    write_skill(later, "gamma")
    assert next(turns).report.counts["added"] == 1


def _make_again(root, link, other) -> None:
    shutil.rmtree(root)
    shutil.copytree(other, root)


def _rename(root, link, other) -> None:
    root.rename(root.with_name("away"))
    other.rename(root)


def _relink(root, link, other) -> None:
    link.with_name("fresh").symlink_to(other)
    link.with_name("fresh").replace(link)


@pytest.mark.parametrize("change", [_make_again, _rename, _relink])
def test_another_folder_in_the_place_of_a_root_is_followed(
    watching, root, hermetic, write_skill, described, change
) -> None:
    other, link = hermetic / "other", hermetic / "link"
    write_skill(other, "beta")
    link.symlink_to(root)
    place = link if change is _relink else root
    turns = watching(place)
    next(turns)
    change(root, link, other)
    while list(described()) != ["skill:beta"]:
        next(turns)
    write_skill(place, "gamma")
    while list(described()) != ["skill:beta", "skill:gamma"]:
        next(turns)


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


def test_an_index_made_of_other_folders_is_put_right(
    watching, root, hermetic, index_dir, write_skill, described
) -> None:
    write_skill(hermetic / "other", "beta")
    turns = watching(root, interval_s=0.3)
    next(turns)
    build_index([hermetic / "other"], index_dir, BuildOptions())
    assert next(turns).notices == (f"no longer scanned: {hermetic / 'other'}",)
    assert list(described()) == ["skill:alpha"]
