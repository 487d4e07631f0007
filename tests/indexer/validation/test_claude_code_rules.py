"""What Claude Code reads of agents and commands; tests/cli/test_validate_for_clients.py has skills."""

from __future__ import annotations

import pytest

from capdisc_indexer.sources.readers.yaml_repair import ALL_SLIPS, read_leniently
from capdisc_indexer.validation.claude_code_rules import check_prompt_file


def hints(text: str, format: str) -> list[str]:
    documents, _ = read_leniently(text, "a.md", 2, ALL_SLIPS)
    return [one.hint for one in check_prompt_file(documents[0], "a.md", format)]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("permissionMode: plan", None),
        ("permissionMode: PLAN", "write default, manual, acceptEdits, plan, auto, dontAsk, bypassPermissions"),
        ("memory: Project", None),
        ("memory: team", "write user, project, local"),
        ("isolation: container", "write worktree, remote"),
        ("maxTurns: 12", None),
        ("maxTurns: 0", "write a whole number from 1"),
        ("maxTurns: many", "write a whole number from 1"),
        ("max-turns: 12", "write maxTurns"),
        ("effort: 2", None),
        ("background: [true]", "write true or false"),
        ("tools: Read, Grep", None),
        ("temperature: 0.1", None),  # of another client
    ],
)  # fmt: skip
def test_a_value_of_an_agent(line: str, hint: str | None) -> None:
    assert hints(f"name: a\ndescription: b\n{line}\n", "agent") == ([hint] if hint else [])


def test_a_command_has_the_fields_of_a_skill() -> None:
    text = "description: b\nallowed-tools: Read, Grep\nArgument-Hint: x\nshell: zsh\nagent: a\n"
    assert hints(text, "command") == ["write argument-hint", "write bash, powershell"]
