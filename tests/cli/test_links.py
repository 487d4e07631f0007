"""Links to skills: followed in the user's own folders, kept inside a workspace, trusted one by one."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(hermetic) -> Path:
    (hermetic / ".git").mkdir()
    return hermetic


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    """A folder that is neither the user's home nor in the workspace."""
    return tmp_path / "elsewhere"


def link(path: Path, target: Path | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def ids(capdisc) -> list[str]:
    return capdisc("list", "--ids").out.split()


def test_a_link_to_a_huge_folder_is_cut_short(
    project, home, elsewhere, write_skill, capdisc, monkeypatch
) -> None:
    from capdisc_indexer.sources.scan import file_scan

    monkeypatch.setattr(file_scan, "MAX_LINKED_FOLDERS", 3)
    for number in range(6):
        write_skill(elsewhere, f"s{number}")
    link(home / ".claude/skills/all", elsewhere)
    assert "the others are not read" in capdisc("index").err
    assert len(ids(capdisc)) == 2


@pytest.fixture
def waiting(project, elsewhere, write_skill, capdisc) -> Path:
    """A link that leads out of a workspace whose skills are indexed."""
    write_skill(project / ".claude/skills", "fold", "Folds paper. Use to fold.")
    capdisc("index")
    write_skill(elsewhere, "swan", "Folds linen swans. Use for linen swans.")
    return link(project / ".claude/skills/swan", elsewhere / "swan")


def test_a_link_that_waits_for_trust_is_named_by_the_next_search(waiting, capdisc) -> None:
    done = capdisc("search", "linen swans", "--ids")
    assert "warning[symlink]" in done.err and f"capdisc trust {waiting}" in done.err
    assert "symlink" not in capdisc("search", "linen swans", "--ids").err
