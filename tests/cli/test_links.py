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


def source(capdisc, name: str) -> dict[str, object]:
    return capdisc("show", name, "--json").json["capabilities"][0]["source"]


def test_a_link_in_a_folder_of_the_user_is_followed_wherever_it_leads(
    project, home, elsewhere, write_skill, capdisc
) -> None:
    (write_skill(elsewhere, "bar").parent / "notes.md").write_text("Notes.\n")
    link(home / ".claude/skills/bar", elsewhere / "bar")
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert source(capdisc, "skill:bar")["path"] == str(home / ".claude/skills/bar/SKILL.md")
    assert source(capdisc, str(elsewhere / "bar"))["link_target"] == str(elsewhere / "bar")
    assert capdisc("show", "skill:bar", "--link", "notes.md").out == "Notes.\n"


def test_a_link_behind_a_link_of_the_user_leads_no_further(
    project, home, elsewhere, write_skill, tmp_path, capdisc
) -> None:
    """What the user linked to may be a clone, whose own links are not the user's."""
    write_skill(elsewhere / "kit", "bar")
    write_skill(elsewhere / "kit" / "more", "inner")
    write_skill(tmp_path / "private", "secret")
    link(home / ".claude/skills/kit", elsewhere / "kit")
    link(elsewhere / "kit" / "again", "more")
    stray = link(elsewhere / "kit" / "stray", tmp_path / "private")
    done = capdisc("index")
    assert ids(capdisc) == ["skill:bar", "skill:inner"]
    assert (
        f"stray is a link that leads out of the scanned folders, to {tmp_path}/private" in done.err
    )
    assert stray.exists()


def test_a_skill_that_a_client_links_to_is_one_skill_with_two_paths(
    project, write_skill, capdisc
) -> None:
    path = write_skill(project / ".agents/skills", "fold")
    other = link(project / ".claude/skills/fold", "../../.agents/skills/fold") / "SKILL.md"
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert ids(capdisc) == ["skill:fold"]
    for name in ("skill:fold", str(path), str(other), str(other.parent), ".claude/skills/fold"):
        assert source(capdisc, name)["path"] == str(path)
        assert source(capdisc, name)["other_paths"] == [str(other)]


def test_a_link_that_comes_or_goes_is_a_change_of_the_skill(project, write_skill, capdisc) -> None:
    write_skill(project / ".agents/skills", "fold")
    capdisc("index")
    assert "other_paths" not in source(capdisc, "skill:fold")
    other = link(project / ".claude/skills/fold", "../../.agents/skills/fold")
    assert "1 updated" in capdisc("index").out
    assert source(capdisc, "skill:fold")["other_paths"] == [str(other / "SKILL.md")]
    assert "no change" in capdisc("index").out
    other.unlink()
    assert "1 updated" in capdisc("index").out
    assert "other_paths" not in source(capdisc, "skill:fold")


def test_a_folder_of_skills_that_is_a_link_gives_both_paths(
    project, home, write_skill, capdisc
) -> None:
    path = write_skill(home / ".agents/skills", "fold")
    link(home / ".claude/skills", home / ".agents/skills")
    capdisc("index")
    assert source(capdisc, "skill:fold")["path"] == str(path)
    assert source(capdisc, "skill:fold")["other_paths"] == [
        str(home / ".claude/skills/fold/SKILL.md")
    ]


def test_a_link_of_a_workspace_leads_anywhere_inside_it_and_into_scanned_folders(
    project, home, write_skill, capdisc
) -> None:
    write_skill(project / "packages", "inside")
    write_skill(home / ".codex/skills", "known")
    link(project / ".claude/skills/inside", project / "packages/inside")
    other = link(project / ".claude/skills/known", home / ".codex/skills/known")
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert ids(capdisc) == ["skill:inside", "skill:known"]
    assert source(capdisc, "skill:known")["other_paths"] == [str(other / "SKILL.md")]


def test_a_link_out_of_a_workspace_waits_for_trust(
    project, elsewhere, write_skill, capdisc
) -> None:
    write_skill(elsewhere, "bees")
    path = link(project / ".claude/skills/bees", elsewhere / "bees")
    write_skill(project / ".claude/skills", "own")
    done = capdisc("index")
    assert f"bees is a link that leads out of the scanned folders, to {elsewhere}/bees" in done.err
    assert f"to read it: capdisc trust {path}" in done.err
    assert ids(capdisc) == ["skill:own"]
    refused = capdisc("trust", str(path))
    assert refused.code == 5
    assert refused.out == f"+ link {path} -> {elsewhere}/bees\n"
    assert capdisc("trust", str(path), "--yes").code == 0
    assert capdisc("index").err == ""
    assert ids(capdisc) == ["skill:bees", "skill:own"]
    assert capdisc("show", "skill:bees", "--links").code == 1  # it has none, and may be read


def test_a_trusted_link_that_leads_elsewhere_waits_again(
    project, elsewhere, write_skill, capdisc
) -> None:
    write_skill(elsewhere, "bees")
    write_skill(elsewhere / "other", "wasps")
    path = link(project / ".claude/skills/bees", elsewhere / "bees")
    capdisc("trust", "--yes")  # the whole workspace, with this link
    capdisc("index")
    assert ids(capdisc) == ["skill:bees"]
    path.unlink()
    link(path, elsewhere / "other/wasps")
    stale = capdisc("show", "skill:bees", "--link", "x.md", "--fresh", "off")
    assert stale.code == 5
    taken_in = capdisc("list", "--ids")
    assert taken_in.out.split() == [] and "capdisc trust" in taken_in.err


def test_trust_in_a_link_can_be_listed_and_revoked(
    project, elsewhere, write_skill, capdisc
) -> None:
    write_skill(elsewhere, "bees")
    path = link(project / ".claude/skills/bees", elsewhere / "bees")
    given = capdisc("trust", str(path), "--yes", "--json").json
    assert given["leads_to"] == f"{elsewhere}/bees" and given["trusted"] is True
    (stored,) = capdisc("trust", "--list", "--json").json["workspaces"]
    assert stored["allows"] == [f"link {path} -> {elsewhere}/bees"]
    assert capdisc("trust", "--revoke", str(path)).out == f"no longer trusted: {path}\n"
    assert capdisc("trust", "--list").out == "nothing is trusted\n"


def test_trust_in_a_link_outlives_a_change_of_the_configuration(
    project, elsewhere, write_skill, capdisc
) -> None:
    write_skill(elsewhere, "bees")
    capdisc("trust", str(link(project / ".claude/skills/bees", elsewhere / "bees")), "--yes")
    (project / "capdisc.toml").write_text('roots = ["../private"]\n')
    capdisc("index")
    assert ids(capdisc) == ["skill:bees"]
    assert capdisc("trust").code == 5


def test_links_that_lead_nowhere_or_in_a_circle_are_named(
    project, home, write_skill, capdisc
) -> None:
    write_skill(home / ".claude/skills", "alpha")
    link(home / ".claude/skills/gone", "nowhere")
    link(home / ".claude/skills/round", "round")
    link(home / ".claude/skills/up", home / ".claude")
    done = capdisc("index")
    assert done.code == 0
    assert "gone is a link that leads nowhere: No such file" in done.err
    assert "round is a link that leads nowhere: Too many levels" in done.err
    assert ids(capdisc) == ["skill:alpha"]
    assert "other_paths" not in source(capdisc, "skill:alpha")


def test_an_edit_behind_a_link_is_indexed_the_next_time(
    project, home, elsewhere, write_skill, capdisc
) -> None:
    write_skill(elsewhere, "bar", "Polishes brass. Use when asked.")
    link(home / ".claude/skills/bar", elsewhere / "bar")
    capdisc("index")
    write_skill(elsewhere, "bar", "Polishes silver. Use when asked.")
    assert "1 updated" in capdisc("index").out
    write_skill(elsewhere, "new")
    (home / ".claude/skills/bar").unlink()
    link(home / ".claude/skills/bar", elsewhere / "new")
    assert "1 added, 1 removed" in capdisc("index").out


def test_a_file_that_is_a_link_is_read(project, home, elsewhere, write_skill, capdisc) -> None:
    path = write_skill(elsewhere, "bar")
    link(home / ".claude/skills/bar/SKILL.md", path)
    link(home / ".claude/agents/look.md", elsewhere / "look.md")
    (elsewhere / "look.md").write_text("---\ndescription: Looks twice.\n---\nLook.\n")
    done = capdisc("index")
    assert (done.code, done.err) == (0, "")
    assert ids(capdisc) == ["agent:look", "skill:bar"]


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


def test_a_workspace_that_is_the_home_folder_gives_clones_in_it_no_freedom(
    home, write_skill, capdisc, monkeypatch
) -> None:
    (home / ".git").mkdir()
    monkeypatch.chdir(home)
    write_skill(home / "private", "secret")
    write_skill(home / ".claude/skills", "own")
    link(home / "clone/skills/leak", home / "private/secret")
    write_skill(home / "clone/skills", "kind")
    done = capdisc("index", "--only", "clone/skills")
    assert "leak is a link that leads out" in done.err
    assert ids(capdisc) == ["skill:kind"]


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


def test_a_link_that_waits_for_trust_is_in_the_status(waiting, capdisc) -> None:
    (line,) = capdisc("status", "--json").json["waiting"]
    assert line.startswith("link ")
    shown = capdisc("status").out
    assert (
        "\nwaiting     link " in shown and ": left out until you trust it: capdisc trust" in shown
    )
    capdisc("trust", line.split()[1], "--yes")
    assert capdisc("status", "--json").json["waiting"] == []
    assert "waiting" not in capdisc("status").out


def test_a_link_that_waits_for_trust_is_named_whenever_somebody_looks(waiting, capdisc) -> None:
    capdisc("search", "linen swans")
    assert "no change" in (done := capdisc("index")).out and "warning[symlink]" in done.err
    assert "symlink" not in capdisc("index", "-q").err
    checks = {check["name"]: check for check in capdisc("doctor", "--json").json["checks"]}
    assert checks["trust"]["state"] == "notice" and "left out: link " in checks["trust"]["text"]
    assert capdisc(*checks["trust"]["fix"].split()[1:], "--yes").code == 0
    checks = {check["name"]: check for check in capdisc("doctor", "--json").json["checks"]}
    assert checks["trust"]["state"] == "ok"


def test_a_first_build_names_links_that_wait_for_trust(
    project, elsewhere, write_skill, capdisc
) -> None:
    write_skill(project / ".claude/skills", "fold", "Folds paper. Use to fold.")
    write_skill(elsewhere, "swan", "Folds linen swans. Use for linen swans.")
    link(project / ".claude/skills/swan", elsewhere / "swan")
    done = capdisc("search", "fold paper")
    assert "warning[symlink]" in done.err and "notice: indexed 1 file" in done.err


@pytest.mark.parametrize("target", [".claude/skills/swan", "."])
def test_a_search_follows_trust_that_is_given_and_revoked(waiting, capdisc, target) -> None:
    for _ in range(2):
        assert ids(capdisc) == ["skill:fold"]
        done = capdisc("trust", target, "--yes")
        assert "the next search brings the index up to date" in done.err
        assert ids(capdisc) == ["skill:fold", "skill:swan"]
        done = capdisc("trust", target, "--revoke")
        assert "the next search brings the index up to date" in done.err
    assert ids(capdisc) == ["skill:fold"]


def test_trust_names_the_command_where_no_search_looks(waiting, capdisc, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_FRESH", "off")
    done = capdisc("trust", ".", "--yes")
    assert done.err.endswith("to bring the index up to date: capdisc index\n")
