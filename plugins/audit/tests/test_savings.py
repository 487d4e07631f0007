"""capdisc audit CLIENT --fix keeps a client's own list of skills small, and --undo takes it back."""

import json
import time
import tomllib
from pathlib import Path

import pytest

_TOPICS = ("volcano", "violin", "bakery", "chess")
_ABOUT = "Writes about the {}. Use when somebody asks for a text on it."


@pytest.fixture(autouse=True)
def no_settings_of_clients(monkeypatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "SKILL_CHAR_BUDGET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(hermetic) -> Path:
    return hermetic.parent / "home"


@pytest.fixture
def skills(hermetic, home, write_skill, capdisc) -> Path:
    """Four skills of the user and one of the project for Claude Code, one more for Codex."""
    for topic in _TOPICS:
        write_skill(home / ".claude" / "skills", topic, _ABOUT.format(topic))
    write_skill(hermetic / ".claude" / "skills", "tailor", _ABOUT.format("tailor"))
    write_skill(home / ".codex" / "skills", "radio", _ABOUT.format("radio"))
    assert capdisc("index").code == 0
    return home


def use(home: Path, *names: str) -> None:
    """As Claude Code records uses."""
    record = {"usageCount": 3, "lastUsedAt": int(1000 * time.time())}
    state = {"skillUsage": dict.fromkeys(names, record)}
    (home / ".claude.json").write_text(json.dumps(state))


def test_each_client_counts_the_skills_of_its_own_folders(skills, capdisc, hermetic) -> None:
    listed = {row["client"]: row["states"] for row in capdisc("audit", "--json").json["clients"]}
    assert (listed["claude"]["full"], listed["codex"]["full"]) == (5, 1)
    assert (listed["copilot"]["full"], listed["gemini"]["full"]) == (5, 0)
    assert "1 skill\n" in capdisc("audit", "codex").out
    nothing = capdisc("audit", "gemini")
    assert nothing.code == 1 and "no skills in this index that Gemini CLI reads" in nothing.err


def test_links_and_copies_count_for_each_client_and_codex_s_own_for_none(
    skills, capdisc, write_skill
) -> None:
    """An index keeps one of two skills with one name; each client lists the one in its folder."""
    codex, claude = skills / ".codex" / "skills", skills / ".claude" / "skills"
    write_skill(codex, "chess", _ABOUT.format("chess"))
    write_skill(codex, "violin", _ABOUT.format("violins of old"))
    (claude / "radio").symlink_to("../../.codex/skills/radio")
    write_skill(skills / "dotfiles", "harp", _ABOUT.format("harp"))
    (claude / "harp").symlink_to(skills / "dotfiles" / "harp")
    write_skill(codex / ".system", "skill-creator", "Creates skills. Use when asked for one.")
    assert capdisc("index").code in (0, 1)

    def names(client: str) -> set[str]:
        (row,) = capdisc("audit", client, "--json").json["clients"]
        return {entry["id"].partition(":")[2] for entry in row["skills"]}

    assert names("claude") == {*_TOPICS, "tailor", "radio", "harp"}
    assert names("codex") == {"radio", "chess", "violin"}
    assert "7 by their names" in capdisc("audit", "claude", "--fix").out


def test_what_is_never_used_is_listed_by_name_and_undo_gives_the_bytes_back(
    skills, capdisc, hermetic
) -> None:
    use(skills, "violin")
    path, local = skills / ".claude/settings.json", hermetic / ".claude/settings.local.json"
    before = b'{"theme": "dark", "skillOverrides": {"chess": "off"}}\n'
    path.write_bytes(before)
    asked = capdisc("audit", "claude", "--fix")
    assert asked.code == 5 and path.read_bytes() == before
    assert (
        '+{"theme": "dark", "skillOverrides": {"chess": "off", "bakery": "name-only"' in asked.out
    )
    done = capdisc("audit", "claude", "--fix", "--yes", "--json")
    assert done.code == 0 and (done.json["listed"], done.json["changed"]) == (4, 3)
    assert all(row["tokens_after"] < row["tokens_before"] for row in done.json["windows"])
    # What is used, and what somebody chose, stays.
    states = {"chess": "off", "bakery": "name-only", "volcano": "name-only"}
    assert json.loads(path.read_text())["skillOverrides"] == states
    assert json.loads(local.read_text()) == {"skillOverrides": {"tailor": "name-only"}}
    assert "3 by name alone, as set" in capdisc("audit", "claude").out
    assert "nothing to save" in capdisc("audit", "claude", "--fix").out
    assert "neither capdisc's hook nor its server" in done.err
    assert capdisc("audit", "claude", "--undo", "--yes").code == 0
    assert path.read_bytes() == before and not local.exists()


def test_hook_and_saving_share_a_file_and_each_undo_leaves_the_other(skills, capdisc) -> None:
    use(skills, "violin")
    path = skills / ".claude/settings.json"
    path.write_text('{\n  "theme": "dark"\n}\n')
    before = path.read_bytes()
    assert capdisc("setup", "claude", "--hook", "--yes").code == 0
    with_hook = path.read_bytes()
    done = capdisc("audit", "claude", "--fix", "--yes")
    assert done.code == 0 and "neither" not in done.err
    assert capdisc("setup", "claude", "--undo", "--yes").code == 0
    assert json.loads(path.read_text()).keys() == {"theme", "skillOverrides"}
    assert capdisc("audit", "claude", "--undo", "--yes").code == 0
    assert path.read_bytes() == before
    assert capdisc("setup", "claude", "--hook", "--yes").code == 0
    assert capdisc("audit", "claude", "--fix", "--yes").code == 0
    assert capdisc("audit", "claude", "--undo", "--yes").code == 0
    assert json.loads(path.read_bytes()) == json.loads(with_hook)


def test_a_state_that_somebody_chose_since_survives_undo(skills, capdisc) -> None:
    path = skills / ".claude/settings.json"
    done = capdisc("audit", "claude", "--fix", "--yes")
    assert done.code == 0 and "no use of a skill is recorded here" in done.err
    states = json.loads(path.read_text())["skillOverrides"]
    assert states.keys() == set(_TOPICS)
    path.write_text(json.dumps({"skillOverrides": {**states, "chess": "on"}}))
    assert capdisc("audit", "claude", "--undo", "--yes").code == 0
    assert json.loads(path.read_text()) == {"skillOverrides": {"chess": "on"}}


def test_codex_switches_off_by_path_once_uses_are_known(
    skills, capdisc, write_skill, hermetic
) -> None:
    write_skill(skills / ".codex" / "skills", "glacier", _ABOUT.format("glacier"))
    capdisc("index")
    path = skills / ".codex/config.toml"
    path.write_text('# mine\nmodel = "x"\n')
    before = path.read_bytes()
    assert "nothing to save" in capdisc("audit", "codex", "--fix").out
    refused = capdisc("audit", "codex", "--fix", "--off", "--yes")
    assert refused.code != 0 and "no use of a skill is recorded" in refused.err
    read = {"file_path": str(skills / ".codex/skills/radio/SKILL.md")}
    event = {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": read}
    capdisc("hook", "claude", stdin=json.dumps({**event, "session_id": "s", "cwd": str(hermetic)}))
    done = capdisc("audit", "codex", "--fix", "--off", "--yes")
    assert done.code == 0
    off = {"path": str(skills / ".codex/skills/glacier/SKILL.md"), "enabled": False}
    assert tomllib.loads(path.read_text()) == {"model": "x", "skills": {"config": [off]}}
    assert "1 in full" in capdisc("audit", "codex").out
    assert capdisc("audit", "codex", "--undo", "--yes").code == 0
    assert path.read_bytes() == before


def test_a_state_that_a_person_gave_stays_also_beside_comments(skills, capdisc) -> None:
    use(skills, "violin")
    path = skills / ".codex/config.toml"
    radio = skills / ".codex/skills/radio/SKILL.md"
    before = f'[[skills.config]]\npath = "{radio}"\nenabled = true\n'
    path.write_text(before)
    assert "nothing to save" in capdisc("audit", "codex", "--fix", "--off", "--yes").out
    assert path.read_text() == before
    path = skills / ".claude/settings.json"
    before = (
        '{\n  // mine\n  "skillOverrides": {"bakery": "on", "chess": "on", "volcano": "on"}\n}\n'
    )
    path.write_text(before)
    capdisc("audit", "claude", "--fix", "--yes")
    assert path.read_text() == before


def test_skills_of_no_clients_folder_get_no_state(skills, capdisc, hermetic, write_skill) -> None:
    write_skill(hermetic / "library", "glacier", _ABOUT.format("glacier"))
    assert capdisc("index", "library").code == 0
    assert capdisc("audit", "claude", "--fix", "--yes").code == 0
    assert "glacier" not in (skills / ".claude/settings.json").read_text()
    assert "glacier" not in (hermetic / ".claude/settings.local.json").read_text()


def test_copilot_gets_a_list_of_names_where_its_budget_is_too_small(
    skills, capdisc, monkeypatch
) -> None:
    use(skills, "violin")
    monkeypatch.setenv("SKILL_CHAR_BUDGET", "400")
    event = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Skill",
        "tool_input": {"skill": "chess"},
    }
    capdisc("hook", "claude", stdin=json.dumps({**event, "session_id": "s"}))
    assert capdisc("audit", "copilot", "--fix", "--yes").code == 0
    path = skills / ".copilot/settings.json"
    disabled = json.loads(path.read_text())["disabledSkills"]
    assert sorted(disabled) == ["bakery", "tailor", "violin", "volcano"]
    listed = capdisc("audit", "copilot", "--json").json["clients"][0]
    assert (listed["states"]["full"], listed["states"]["left-out"]) == (1, 0)
    assert capdisc("audit", "copilot", "--undo", "--yes").code == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fix"], "name a client"),
        (["cursor", "--fix"], "no setting for single skills"),
        (["claude", "--fix", "--undo"], "opposites"),
        (["claude", "--off"], "--off goes with --fix"),
        (["claude", "--yes"], "--yes goes with"),
        (["claude", "--fix", "--kind", "tool"], "for skills alone"),
    ],
)
def test_options_that_do_not_go_together(words, message, capdisc, skills) -> None:
    refused = capdisc("audit", *words)
    assert refused.code == 2 and message in refused.err
