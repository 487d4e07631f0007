"""What belongs to another user in a workspace counts once the user has trusted it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from capdisc.context import surroundings

STRANGER = 54_321
PROMPT = {"hook_event_name": "UserPromptSubmit", "prompt": "fold a paper crane", "session_id": "s"}


@pytest.fixture
def shared(hermetic: Path, write_skill) -> Path:
    """A workspace with skills, a root, a source and settings, and a skill of the user's own."""
    home = hermetic.parent / "home"
    write_skill(home / ".claude" / "skills", "knit", "Knits socks. Use when asked.")
    write_skill(hermetic / ".claude" / "skills", "fold", "Folds paper cranes. Use when asked.")
    write_skill(hermetic / "more", "cut", "Cuts paper. Use when asked.")
    (hermetic / "docs").mkdir()
    (hermetic / "docs" / "guide.md").write_text("# Guide\n\nCranes have two wings.\n")
    (hermetic / "capdisc.toml").write_text(
        'roots = ["more"]\n[[source]]\nformat = "document"\npath = "docs/*.md"\n'
    )
    return hermetic


@pytest.fixture
def as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take everything on disk for another user's."""
    monkeypatch.setattr(surroundings, "_find_own_users", lambda: frozenset({STRANGER}))


def ids(capdisc) -> set[str]:
    """What is listed, without the sections of documents."""
    listed = capdisc("list", "--ids").out.split()
    return {name for name in listed if not name.startswith("section:")}


EVERYTHING = {"skill:fold", "skill:cut", "skill:knit", "document:guide"}


def test_a_workspace_of_another_user_is_left_out_and_named(
    capdisc, shared, as_somebody_else
) -> None:
    """Once whoever could make .git and .claude in a folder above decided what agents were told."""
    line = f"owner {shared} -> user {os.geteuid()}"
    searched = capdisc("search", "fold a paper crane")
    assert "fold" not in searched.out
    assert f"notice: left out until you trust it: {line}" in searched.err
    assert ids(capdisc) == {"skill:knit"}
    assert line in capdisc("index").err
    checks = json.loads(capdisc("doctor", "--json").out)["checks"]
    assert any(line in check["text"] for check in checks)
    assert line in capdisc("status").out
    shown = capdisc("trust")
    assert shown.code == 5 and shown.out.splitlines()[1:] == [f"  + {line}"]
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("index").err == ""
    assert ids(capdisc) == EVERYTHING
    assert capdisc("trust").code == 0
    assert capdisc("trust", "--revoke").code == 0
    assert line in capdisc("index").err
    assert ids(capdisc) == {"skill:knit"}


def test_a_path_that_a_person_names_needs_no_trust(capdisc, shared, as_somebody_else) -> None:
    assert "skill:cut" not in ids(capdisc)
    assert capdisc("index", "more").code == 0
    assert ids(capdisc) == {"skill:cut", "skill:knit"}
    assert capdisc("validate", ".claude/skills/fold/SKILL.md").code == 0


PARTS = {
    ".claude": "skill:fold",
    ".claude/skills": "skill:fold",
    "more": "skill:cut",
    "docs": "document:guide",
    ".claude/skills/fold": "skill:fold",
    "more/cut": "skill:cut",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("part", PARTS)
def test_a_folder_of_another_user_costs_its_own_capabilities_alone(
    capdisc, process, shared, part
) -> None:
    assert capdisc("index").err == ""
    assert ids(capdisc) == EVERYTHING
    os.chown(shared / part, STRANGER, STRANGER)
    if part != ".claude":  # of which a query looks at the folders inside alone
        assert ids(capdisc) == EVERYTHING - {PARTS[part]}
    done = capdisc("index")
    assert f"{shared}/{part}" in done.err and f"user {STRANGER}" in done.err
    assert ids(capdisc) == EVERYTHING - {PARTS[part]}
    assert f"{shared}/{part}" in capdisc("trust").out
    assert f"user {STRANGER}" in capdisc("doctor").out
    answer = process("hook", "claude", "--deadline", "60", stdin=json.dumps(PROMPT)).out
    assert ("cranes" in answer) is (PARTS[part] != "skill:fold")
    assert capdisc("trust", "--yes").code == 0
    assert capdisc("index").err == ""
    assert ids(capdisc) == EVERYTHING


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_settings_of_another_user_are_not_read(capdisc, shared) -> None:
    os.chown(shared / "capdisc.toml", STRANGER, STRANGER)
    assert f"owner {shared}/capdisc.toml -> user {STRANGER}" in capdisc("index").err
    assert ids(capdisc) == {"skill:fold", "skill:knit"}
    (shared / "capdisc.toml").write_text("this is no TOML")
    assert capdisc("search", "fold a paper crane").code == 0


def test_as_root_by_sudo_the_callers_own_folders_count(monkeypatch) -> None:
    monkeypatch.setenv("SUDO_UID", "1000")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert surroundings._find_own_users() == {0, 1000}
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert surroundings._find_own_users() == {0, 1001}
