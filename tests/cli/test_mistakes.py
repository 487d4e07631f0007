"""Slips of people who know other programs, each answered with what to type instead."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("budget", ["2k", "2000", "2K", "1m"])
def test_numbers_of_tokens_may_be_short(capdisc, write_skill, hermetic, budget: str) -> None:
    write_skill(hermetic / "skills", "pdf", "Merges PDF files. Use for PDFs.")
    assert capdisc("index", "skills").code == 0
    expected = {"2k": 2_000, "2000": 2_000, "2K": 2_000, "1m": 1_000_000}[budget]
    short, long = (
        capdisc("render", "merge pdf", "-q", "--budget", number)
        for number in (budget, str(expected))
    )
    assert short == long and short.code == 0
    audit = capdisc("audit", "claude", "--window", budget)
    assert f"a window of {expected:,} tokens" in audit.out


@pytest.mark.parametrize("command", ["show", "run"])
def test_a_name_that_nothing_is_near_gets_no_suggestion(
    capdisc, write_skill, hermetic, command: str
) -> None:
    """Once `skill:nosuch` got `skill:docx`, for the letters of its kind."""
    for name in ("pdf", "docx"):
        write_skill(hermetic / "skills", name, f"Writes {name} files. Use for {name}.")
    assert capdisc("index", "skills").code == 0
    for typed, message in (
        ("skill:nosuch", "there is no capability 'skill:nosuch'"),
        ("/nope/SKILL.md", "no capability lies at '/nope/SKILL.md'"),
    ):
        done = capdisc(command, typed)
        assert (done.code, done.out) == (2, "")
        assert message in done.err and "did you mean" not in done.err
    assert "did you mean skill:docx" in capdisc(command, "skill:docs").err
