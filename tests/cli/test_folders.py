"""Which folders are scanned, and which wins where two hold the same skill."""

import os
from pathlib import Path

import pytest

from capdisc.context.surroundings import workspace_folder


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


@pytest.fixture
def project(hermetic, monkeypatch, write_skill, home):
    """A repository and a home that both have a skill called pack, in the folders of several clients."""
    (hermetic / ".git").mkdir()
    write_skill(
        hermetic / ".claude" / "skills", "pack", "Packs boxes for the project. Use when asked."
    )
    write_skill(hermetic / ".agents" / "skills", "ship", "Ships boxes by boat. Use when asked.")
    write_skill(home / ".claude" / "skills", "pack", "Packs boxes for the user. Use when asked.")
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    return hermetic


def _described(capdisc) -> dict[str, str]:
    return {
        each["id"]: each["description"] for each in capdisc("list", "--json").json["capabilities"]
    }


def test_the_profile_claude_reads_its_own_folders_and_lets_the_user_win(
    project, capdisc, monkeypatch
) -> None:
    """A profile has its own order of folders, and reports what is hidden (S62, S63)."""
    monkeypatch.setenv("CAPDISC_FOLDERS", "claude")
    capdisc("index")
    found = _described(capdisc)
    assert found.keys() == {"skill:pack"}
    assert "for the user" in found["skill:pack"]
    assert str(project / ".claude") in capdisc("list", "--shadowed").out


def test_the_profile_agents_reads_no_other_folder(project, capdisc) -> None:
    (project / "capdisc.toml").write_text('folders = "agents"\n')
    capdisc("index")
    assert _described(capdisc).keys() == {"skill:ship"}


def test_a_profile_that_climbs_finds_folders_on_the_way_up(
    project, capdisc, monkeypatch, write_skill
) -> None:
    inner = project / "services" / "api"
    write_skill(inner / ".claude" / "skills", "route", "Routes calls. Use when asked.")
    monkeypatch.setenv("CAPDISC_FOLDERS", "claude")
    monkeypatch.chdir(inner)
    capdisc("index")
    assert _described(capdisc).keys() == {"skill:pack", "skill:route"}


def test_folders_that_nobody_has_are_an_error_with_the_names_there_are(
    project, capdisc, monkeypatch
) -> None:
    monkeypatch.setenv("CAPDISC_FOLDERS", "claud")
    done = capdisc("index")
    assert done.code == 3
    assert "claude" in done.err


def test_a_skill_that_models_may_not_start_is_left_out_but_listed(project, capdisc) -> None:
    """`disable-model-invocation` hides a skill from search (S55, S65)."""
    path = project / ".agents" / "skills" / "wipe" / "SKILL.md"
    path.parent.mkdir()
    path.write_text(
        "---\nname: wipe\ndescription: Wipes the tables.\ndisable-model-invocation: true\n---\nDo.\n"
    )
    capdisc("index")
    assert capdisc("search", "wipe the tables", "--ids").out.split() != ["skill:wipe"]
    assert "wipe" not in capdisc("render", "wipe the tables").out
    assert "hidden" in capdisc("show", "wipe", "--json").out


@pytest.mark.parametrize(
    ("marks", "folder", "workspace"),
    [
        ((), "home/a/b", "home/a/b"),
        (("home/a/.git/",), "home/a/b", "home/a"),
        (("home/a/.git/", "home/a/b/capdisc.toml"), "home/a/b", "home/a/b"),
        (("home/a/.git/",), "home/a/.git/c", "home/a"),
        (("home/.git/",), "home/a/b", "home/a/b"),
        (("home/.git/",), "home", "home"),
        (("home/.git/", "home/a/.capdisc/"), "home/a/b", "home/a"),
        (("repository/.git",), "repository/d", "repository"),
        (("home/.git/", "capdisc.toml"), "home/a", ""),
    ],
)
def test_the_workspace_is_the_nearest_marked_folder(
    marks: tuple[str, ...], folder: str, workspace: str, tmp_path
) -> None:
    for mark in marks:
        place = tmp_path / mark
        (place if mark.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        if not mark.endswith("/"):
            place.touch()
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    nearest = workspace_folder(str(tmp_path / folder), str(tmp_path / "home"))
    assert nearest == str(tmp_path / workspace)
