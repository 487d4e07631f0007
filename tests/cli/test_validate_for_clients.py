"""`capdisc validate` for the clients that load a skill: profiles, names and what --fix says."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("context: spoon", "write fork, inline"),
        ("effort: giant", "write low, medium, high, xhigh, max"),
        ("shell: zsh", "write bash, powershell"),
        ("user-invocable: perhaps", "write true or false"),
        ("user_invocable: false", "write user-invocable"),
        ("whenToUse: often", "write when_to_use"),
        ("hooks: [a]", "write the names of events below hooks"),
    ],
)
def test_what_claude_code_ignores_without_a_word_is_a_warning(capdisc, skill, line, hint) -> None:
    skill("a", "a", line)
    assert found(capdisc, "--profile", "claude-code") == [("warning", "claude-code-value", hint)]


@pytest.mark.parametrize(
    "line",
    ["effort: 3", "effort: HIGH", "user-invocable: no", "context:", "disallowedTools: Write"],
)
def test_what_claude_code_understands_is_no_finding(capdisc, skill, line) -> None:
    skill("a", "a", line)
    codes = [code for _, code, _ in found(capdisc, "--profile", "claude-code")]
    assert [code for code in codes if code.startswith("claude-code")] == []


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


def test_claude_alone_says_which_of_both_it_is(capdisc, skill) -> None:
    skill("a", "a")
    done = capdisc("validate", "skills", "--json", "--profile", "claude")
    assert done.json["profile"] == "claude-ai"
    assert "for Claude Code: --profile claude-code" in done.err
    assert capdisc("validate", "skills", "--profile", "claude", "-q").err == ""


@pytest.mark.parametrize(
    ("folder", "name", "hint"),
    [
        ("bad_skill", "Bad Skill", "write bad-skill, and rename the folder to it"),
        ("bad-skill", "Bad Skill", "write bad-skill"),
        ("pdf", "PDF Tools", "write pdf"),
        ("pdf_tools", "pdf-tools", "rename the folder to pdf-tools"),
        ("pdf", "pdf-tools", "write pdf, or rename the folder to pdf-tools"),
        ("a--b", "a--b", "write a-b, and rename the folder to it"),
        ("über", "über", "write uber, and rename the folder to it"),
        ("技能", "技能", "write it with a to z, digits and hyphens"),
        ("x", "y" * 70, "write x"),
    ],
)
def test_all_findings_about_a_name_have_one_hint(capdisc, skill, folder, name, hint) -> None:
    skill(folder, name)
    findings = found(capdisc)
    assert {one for _, _, one in findings} == {hint}
    # What the hint says is right: written so, nothing is found.
    written = re.match(r"write ([a-z0-9-]+)$", hint.split(",")[0])
    if written and written[1] == folder:
        skill(folder, written[1])
        assert found(capdisc) == []


def test_a_reserved_word_is_left_out_of_the_name(capdisc, skill) -> None:
    skill("claude-pdf", "claude-pdf")
    assert found(capdisc, "--profile", "claude-ai") == [
        ("error", "name-reserved-word", "write pdf, and rename the folder to it")
    ]


def test_the_folder_of_a_piped_text_is_not_guessed(capdisc) -> None:
    text = f"---\nname: Bad Skill\ndescription: {DESCRIPTION}\n---\nDo it.\n"
    findings = capdisc("validate", "-", "--json", "-q", stdin=text).json["findings"]
    assert {one["hint"] for one in findings} == {"write bad-skill"}


@pytest.mark.parametrize(
    "description",
    [
        "Does one thing well. Use when the user asks for Tidy Changelog.",
        "Replace with description of the skill and when Claude should use it.",
        "A brief description of what this skill does",
        '"[TODO: say what it does]"',
        "Lorem ipsum dolor sit amet, consectetur.",
    ],
)
def test_the_text_of_a_skeleton_is_found(capdisc, skill, description) -> None:
    skill("tidy", "tidy", description=description)
    assert [(one, code) for one, code, _ in found(capdisc)] == [
        ("warning", "description-placeholder")
    ]


@pytest.mark.parametrize(
    "description",
    ["Turns each TODO of the code into an issue.", "Replaces a color with another in CSS files."],
)
def test_a_description_about_such_words_is_none(capdisc, skill, description) -> None:
    skill("tidy", "tidy", description=description)
    assert found(capdisc) == []


def test_the_skeleton_of_a_manifest_is_found_too(capdisc, hermetic) -> None:
    path = hermetic / "skills" / "a" / "CAPABILITY.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: a\nkind: tool\ndescription: Does one thing well. Say what it takes.\n")
    assert [code for _, code, _ in found(capdisc)] == ["description-placeholder"]


def test_a_path_that_is_not_there_is_one_error(capdisc) -> None:
    done = capdisc("validate", "/nope")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "error: cannot find /nope: No such file or directory",
        "hint: name a folder or a capability file that exists",
    ]


@pytest.mark.parametrize("write", [(), ("--write",)])
def test_fix_says_that_it_can_do_nothing(capdisc, skill, write) -> None:
    path = skill("bad_skill", "Bad Skill")
    before = path.read_text()
    done = capdisc("validate", "skills", "--fix", *write)
    assert "notice: nothing was changed: these findings, which --fix does not print" in done.err
    assert path.read_text() == before


def test_fix_says_that_there_is_nothing_to_do(capdisc, skill) -> None:
    skill("a", "a")
    done = capdisc("validate", "skills", "--fix")
    assert (done.out, done.err) == (
        "",
        "notice: there is nothing to put right\n1 file, 0 findings\n",
    )


def test_fix_says_what_it_did_and_how_many_findings_are_left(capdisc, skill) -> None:
    skill("a", "A", description="Use when: many are open and nobody sorts them.")
    done = capdisc("validate", "skills", "--fix", "--write")
    assert done.err.splitlines() == [
        "fixed skills/a/SKILL.md: yaml-unquoted-colon",
        "1 file, 2 findings left",
    ]
