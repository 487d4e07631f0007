"""Slips of people who know other programs, each answered with what to type instead."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("--json search pdf", "options stand behind the command", "capdisc search pdf --json"),
        ("-k 3 search pdf", "options stand behind the command", "capdisc search pdf -k 3"),
        ("pdf", "No such command 'pdf'.", "to search for it: capdisc search pdf"),
        ("serch", "No such command 'serch'. Did you mean 'search'?", "see: capdisc --help"),
        ("search pdf -k zero", "'zero' is not a number from 1 to 1000", "capdisc search --help"),
        ("search pdf -k 5k", "'5k' is not a number from 1 to 1000", "capdisc search --help"),
        ("render pdf --budget some", "'some' is not a number of at least 1", "render --help"),
        ("log --on", "No such option: --on", "capdisc config set log true"),
        ("log --off", "No such option: --off", "capdisc config set log false"),
        ("config limit", "limit is a setting", "write: capdisc config get limit"),
        ("config limit 5", "limit is a setting", "write: capdisc config set limit 5"),
        ("search pdf --format json", "No such option: --format", "for JSON: --json"),
        ("search pdf -v", "No such option: -v", "the version: capdisc -V"),
        ("init folder", "extra argument", "cd there first"),
    ],
)
def test_a_slip_is_answered_with_what_to_type(capdisc, words: str, message: str, hint: str):
    done = capdisc(*words.split())
    assert (done.code, bool(done.out)) == (2, "--json" in words)
    error, answer = done.err.splitlines()[:2]
    assert message in error and "Did you mean '--" not in error
    assert hint in answer


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
