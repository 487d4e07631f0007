"""`capdisc hook` and what differs between clients: the start of a subagent, events that come too often
or from another client, and skills that a client's own tool loads.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capdisc.context import background_build
from capdisc.hook.use_memory import load_use_memory

REQUEST = "fold a paper crane"


@pytest.fixture(autouse=True)
def no_refresh(monkeypatch) -> None:
    monkeypatch.setattr(background_build, "start_refresh", lambda *_: None)


@pytest.fixture
def home(hermetic) -> Path:
    return hermetic.parent / "home"


@pytest.fixture
def tell(capdisc) -> Callable[..., str]:
    """The text that a client gets for this event; "" for none."""

    def run(client: str, name: str, **fields: Any) -> str:
        event = {"hook_event_name": name, "session_id": "s", **fields}
        done = capdisc("hook", client, stdin=json.dumps(event))
        assert done.code == 0, done.err
        answer = json.loads(done.out or "{}")
        specific = answer.get("hookSpecificOutput", answer)
        assert specific.get("hookEventName", name) == name
        return specific.get("additionalContext", "")

    return run


@pytest.fixture
def crane(hermetic, write_skill, capdisc) -> Callable[..., Path]:
    """Write and index the skill of this name in a folder."""
    (hermetic / ".git").mkdir()

    def add(folder: Path, name: str = "paper-cranes") -> Path:
        path = write_skill(folder, name, "Folds paper cranes. Use when asked for a crane.")
        assert capdisc("index", "-q").code == 0
        return path

    return add


# Subagents.


def test_a_subagent_gets_what_fitted_the_last_prompt_once(tell, crane, hermetic) -> None:
    crane(hermetic / ".claude/skills")
    assert tell("claude", "SubagentStart", agent_id="a") == ""
    text = tell("claude", "UserPromptSubmit", prompt=REQUEST)
    assert "- paper-cranes: " in text
    assert tell("claude", "SubagentStart", agent_id="a") == text
    assert tell("claude", "SubagentStart", agent_id="a") == ""
    assert tell("claude", "SubagentStart", agent_id="b", session_id="other") == ""
    # The session has the line already, and a new subagent does not.
    assert tell("claude", "UserPromptSubmit", prompt=REQUEST) == ""
    assert tell("claude", "SubagentStart", agent_id="b") == text
    assert tell("claude", "UserPromptSubmit", prompt="thanks!") == ""
    assert tell("claude", "SubagentStart", agent_id="c") == ""


def test_in_the_shadow_a_subagent_gets_nothing(tell, crane, hermetic, monkeypatch) -> None:
    crane(hermetic / ".claude/skills")
    monkeypatch.setenv("CAPDISC_HOOK_MODE", "shadow")
    tell("claude", "UserPromptSubmit", prompt=REQUEST)
    assert tell("claude", "SubagentStart", agent_id="a") == ""


# Events of other clients, and those that mean nothing.


@pytest.mark.parametrize(
    "fields", [{"timestamp": "2026-11-27T10:00:00Z"}, {"cursor_version": "3"}]
)
def test_a_client_that_only_borrows_the_hook_gets_nothing(tell, crane, hermetic, fields) -> None:
    crane(hermetic / ".claude/skills")
    assert tell("claude", "UserPromptSubmit", prompt=REQUEST, **fields) == ""
    assert tell("claude", "", prompt=REQUEST, hookEventName="UserPromptSubmit", **fields) == ""
    tell("claude", "SessionStart", source="new", **fields)
    # Nor does it take the line away from the client itself.
    assert "paper-cranes" in tell("claude", "UserPromptSubmit", prompt=REQUEST)


def test_gemini_forgets_a_session_only_where_a_person_compressed_it(tell, crane, hermetic) -> None:
    crane(hermetic / ".gemini/skills")
    assert "paper-cranes" in tell("gemini", "BeforeAgent", prompt=REQUEST)
    tell("gemini", "PreCompress", trigger="auto")
    assert tell("gemini", "BeforeAgent", prompt=REQUEST) == ""
    tell("gemini", "PreCompress", trigger="manual")
    assert "paper-cranes" in tell("gemini", "BeforeAgent", prompt=REQUEST)


def test_cursor_names_its_session_and_folder_in_its_own_way(capdisc, crane, hermetic) -> None:
    crane(hermetic / ".cursor/skills")
    event = {"conversation_id": "c", "workspace_roots": [str(hermetic)], "prompt": REQUEST}
    prompt = json.dumps({"hook_event_name": "beforeSubmitPrompt", **event})
    compaction = json.dumps({"hook_event_name": "preCompact", **event, "trigger": "auto"})
    assert "paper-cranes" in capdisc("hook", "cursor", stdin=prompt).json["additional_context"]
    assert capdisc("hook", "cursor", stdin=prompt).out == ""
    assert capdisc("hook", "cursor", stdin=compaction).out == ""
    assert "paper-cranes" in capdisc("hook", "cursor", stdin=prompt).out


@pytest.mark.parametrize(
    ("client", "name", "fields"),
    [
        ("claude", "UserPromptExpansion", {"command_name": "paper-cranes", "prompt": "/paper-cranes"}),
        ("gemini", "AfterTool", {"tool_name": "mcp_shop_paper-cranes",
                                 "mcp_context": {"server_name": "shop", "tool_name": "paper-cranes"}}),
        ("qwen", "PostToolUse", {"tool_name": "skill", "tool_input": {"skill": "paper-cranes"}}),
    ],
)  # fmt: skip
def test_a_use_is_counted_from_what_the_client_says(tell, home, client, name, fields) -> None:
    assert tell(client, name, **fields) == ""
    records = load_use_memory(home / ".local/state/capdisc").records
    assert [name for name, record in records.items() if record.used] == ["paper-cranes"]


# Skills that the client's own tool loads.


@pytest.mark.parametrize(
    ("client", "folder", "way"),
    [
        ("claude", ".claude/skills", "Use the skill paper-cranes"),
        ("claude", ".agents/skills", "Read .agents/skills/paper-cranes/SKILL.md"),
        ("claude", ".claude/skills/nested", "Read .claude/skills/nested/paper-cranes/SKILL.md"),
        ("gemini", ".gemini/skills", "Use the skill paper-cranes"),
        ("opencode", ".claude/skills", "Use the skill paper-cranes"),
        ("copilot", ".github/skills", "Use the skill paper-cranes"),
        ("qwen", ".qwen/skills", "Use the skill paper-cranes"),
        ("codex", ".agents/skills", "Read .agents/skills/paper-cranes/SKILL.md"),
    ],
)
def test_a_line_says_how_this_client_loads_the_skill(
    tell, crane, hermetic, client, folder, way
) -> None:
    crane(hermetic / folder)
    event = {"gemini": "BeforeAgent", "opencode": "chat.message"}.get(client, "UserPromptSubmit")
    (line,) = tell(client, event, prompt=REQUEST).splitlines()[1:]
    assert line.endswith(f". {way}")


@pytest.mark.parametrize(
    ("state", "way"),
    [("off", "Read "), ("user-invocable-only", "Read "), ("name-only", "Use the skill cranes")],
)
def test_a_skill_that_claude_code_would_refuse_is_read(tell, crane, home, state, way) -> None:
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text(json.dumps({"skillOverrides": {"cranes": state}}))
    path = crane(home / ".claude/skills", "cranes")
    (line,) = tell("claude", "UserPromptSubmit", prompt=REQUEST).splitlines()[1:]
    assert f". {way}" in line and (str(path) in line) == (way == "Read ")


def test_a_skill_that_copilot_was_told_to_leave_out_is_read(tell, crane, home) -> None:
    (home / ".copilot").mkdir()
    (home / ".copilot/settings.json").write_text('{"disabledSkills": ["paper-cranes"]}')
    crane(home / ".copilot/skills")
    assert ". Read /" in tell("copilot", "UserPromptSubmit", prompt=REQUEST)


def test_claude_code_goes_by_the_folder_and_knows_plugins(tell, crane, home, hermetic) -> None:
    path = crane(hermetic / ".claude/skills")
    path.parent.rename(path.parent.with_name("folded"))
    plugin = home / "kit"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin/plugin.json").write_text('{"name": "kit"}')
    installed = {
        "version": 2,
        "plugins": {"kit@x": [{"scope": "user", "installPath": str(plugin)}]},
    }
    (home / ".claude/plugins").mkdir(parents=True)
    (home / ".claude/plugins/installed_plugins.json").write_text(json.dumps(installed))
    (home / ".claude/settings.json").write_text('{"enabledPlugins": {"kit@x": true}}')
    crane(plugin / "skills", "boats")
    (plugin / "skills/boats/SKILL.md").write_text(
        "---\nname: boats\ndescription: Folds paper boats. Use when asked for a boat.\n---\n\nFold.\n"
    )
    crane(hermetic / "unrelated")
    lines = tell("claude", "UserPromptSubmit", prompt=REQUEST)
    assert lines.splitlines()[1].endswith(". Use the skill folded")
    assert tell("claude", "UserPromptSubmit", prompt="fold a paper boat").endswith(
        ". Use the skill kit:boats\n"
    )
