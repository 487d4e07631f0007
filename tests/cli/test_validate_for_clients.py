"""`capdisc validate` for the clients that load a skill: profiles, names and what --fix says."""

from __future__ import annotations

from pathlib import Path

import pytest

DESCRIPTION = "Sorts issues. Use when many are open."
CLAUDE_CODE_SKILL = f"""---
name: Sort Issues
description: {DESCRIPTION}
allowed-tools: Read, Grep, Bash(git log:*)
argument-hint: "[label]"
disable-model-invocation: true
context: fork
model: haiku
effort: xhigh
---
Sort them.
"""


@pytest.fixture
def skill(hermetic: Path):
    """Writes skills/FOLDER/SKILL.md with this name and these further lines."""

    def write(folder: str, name: str, *lines: str, description: str = DESCRIPTION) -> Path:
        path = hermetic / "skills" / folder / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        front = "\n".join((f"name: {name}", f"description: {description}", *lines))
        path.write_text(f"---\n{front}\n---\nSort them.\n")
        return path

    return write


def found(capdisc, *argv: str) -> list[tuple[str, str, str]]:
    """The findings as severity, code and hint."""
    findings = capdisc("validate", "skills", "--json", "-q", *argv).json["findings"]
    return [(one["severity"], one["code"], one["hint"]) for one in findings]


def test_a_skill_of_claude_code_passes_its_profile_and_no_other_with_fields_of_its_own(
    capdisc, skill
) -> None:
    skill("sort-issues", "x").write_text(CLAUDE_CODE_SKILL)
    done = capdisc("validate", "skills", "--profile", "claude-code", "--strict")
    assert done.code == 0
    assert {code for _, code, _ in found(capdisc, "--profile", "claude-code")} == {
        "name-case", "name-characters", "name-folder-mismatch"
    }  # fmt: skip
    refused = [
        code
        for severity, code, _ in found(capdisc, "--profile", "claude-ai")
        if severity == "error"
    ]
    assert refused.count("claude-code-field") == 5


@pytest.mark.parametrize("lines", [("allowed-tools: Read, Grep",), ("allowed-tools: [Read]",)])
def test_commas_and_lists_of_tools_are_no_warning_of_a_build(capdisc, skill, lines) -> None:
    skill("a", "a", *lines)
    assert [code for _, code, _ in found(capdisc)] == ["allowed-tools-type"]
    assert found(capdisc, "--profile", "claude-code") == []
    assert "allowed-tools" not in capdisc("index", "skills").err


@pytest.mark.parametrize("name", ["claude.ai", "Claude-AI", "skills-api"])
def test_a_profile_has_other_names(capdisc, skill, name) -> None:
    skill("a", "a")
    done = capdisc("validate", "skills", "--json", "--profile", name)
    assert done.json["profile"] == "claude-ai" and "notice" not in done.err


def test_the_folder_of_a_piped_text_is_not_guessed(capdisc) -> None:
    text = f"---\nname: Bad Skill\ndescription: {DESCRIPTION}\n---\nDo it.\n"
    findings = capdisc("validate", "-", "--json", "-q", stdin=text).json["findings"]
    assert {one["hint"] for one in findings} == {"write bad-skill"}


@pytest.mark.parametrize("write", [(), ("--write",)])
def test_fix_says_that_it_can_do_nothing(capdisc, skill, write) -> None:
    path = skill("bad_skill", "Bad Skill")
    before = path.read_text()
    done = capdisc("validate", "skills", "--fix", *write)
    assert "notice: nothing was changed: these findings, which --fix does not print" in done.err
    assert path.read_text() == before
