"""capdisc audit says what each client shows of the skills, what they cost, and which compete."""

import json
import time
from pathlib import Path

import pytest

from capdisc_audit.client_listings import CLIENT_LISTINGS

_LONG = (
    "Writes the {} of a plant and waters it. Use when somebody asks for it. " + "More words. " * 30
)
# Topics that have nothing to do with each other, so that only what a test makes alike is alike.
_TOPICS = ("volcano", "violin", "bakery", "chess", "tax", "glacier", "tailor", "radio")


@pytest.fixture(autouse=True)
def no_settings_of_clients(monkeypatch) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "SLASH_COMMAND_TOOL_CHAR_BUDGET", "SKILL_CHAR_BUDGET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(hermetic) -> Path:
    return hermetic.parent / "home"


@pytest.fixture
def eight(capdisc, hermetic, write_skill) -> Path:
    """An index of eight skills with descriptions of some 430 characters each: more than the 2,800
    that Claude Code has beside its own."""
    for topic in _TOPICS:
        write_skill(hermetic / "skills", topic, _LONG.format(topic))
    capdisc("index", "skills")
    return hermetic / "skills"


def _states(result) -> dict:
    return {skill["id"]: skill["state"] for skill in result.json["clients"][0]["skills"]}


def test_claude_keeps_all_names_and_drops_whole_descriptions(capdisc, eight) -> None:
    result = capdisc("audit", "claude", "--json")
    client = result.json["clients"][0]
    assert (result.code, client["budget"], client["own"]) == (0, 8_000, 5_204)
    assert client["states"] == {"full": 6, "cut": 0, "dropped": 2, "named": 0, "left-out": 0}
    assert client["own"] + client["takes"] <= client["budget"] < client["own"] + client["needs"]
    dropped = [skill for skill in client["skills"] if skill["state"] == "dropped"]
    assert all(skill["shown_characters"] == 0 < skill["loaded_tokens"] for skill in dropped)
    text = capdisc("audit", "claude").out
    assert "6 in full, 2 by name alone" in text
    assert '"skillListingBudgetFraction": 0.02 in ~/.claude/settings.json' in text
    assert "30,000 characters with a window of 1,000,000 tokens: 8 in full" in text


def test_claude_keeps_the_descriptions_of_skills_in_use(capdisc, home, eight) -> None:
    now = int(1000 * time.time())
    usage = {
        "volcano": {"usageCount": 9, "lastUsedAt": now},
        "pack:tax": {"usageCount": 3, "lastUsedAt": now},
        "radio": {"usageCount": 90, "lastUsedAt": 0},
    }
    unknown = capdisc("audit", "claude")
    assert "no use of a skill is recorded" in unknown.out
    (home / ".claude.json").write_text(json.dumps({"skillUsage": usage}))
    result = capdisc("audit", "claude", "--budget", "6400", "--json")
    full = {name for name, state in _states(result).items() if state == "full"}
    assert full == {"skill:radio", "skill:volcano"}
    assert result.json["clients"][0]["read"] == [str(home / ".claude.json")]
    assert "no use of a skill is recorded" not in capdisc("audit", "claude").out


def test_settings_of_claude_decide_what_is_listed(capdisc, home, eight, monkeypatch) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps(
            {
                "skillListingBudgetFraction": 0.02,
                "skillListingMaxDescChars": 100,
                "skillOverrides": {"chess": "off", "tax": "name-only"},
            }
        )
    )
    result = capdisc("audit", "claude", "--json")
    states = _states(result)
    assert result.json["clients"][0]["budget"] == 16_000
    assert "skill:chess" not in states
    assert (states["skill:tax"], states["skill:radio"]) == ("named", "cut")
    settings.write_text('{"disableBundledSkills": true}')
    assert set(_states(capdisc("audit", "claude", "--json")).values()) == {"full"}
    monkeypatch.setenv("SLASH_COMMAND_TOOL_CHAR_BUDGET", "500")
    assert capdisc("audit", "claude", "--json").json["clients"][0]["budget"] == 500
    settings.write_text("{broken")
    broken = capdisc("audit", "claude")
    assert broken.code == 0
    assert f"notice: {settings} is left out: it is not JSON" in broken.err


def test_claude_cuts_a_long_description_and_leaves_out_a_hidden_skill(
    capdisc, hermetic, write_skill
) -> None:
    write_skill(hermetic / "skills", "long", "Word. " * 300)
    path = write_skill(hermetic / "skills", "hidden", "Is asked for by its user alone.")
    path.write_text(path.read_text().replace("---\n\n", "disable-model-invocation: true\n---\n\n"))
    capdisc("index", "skills")
    result = capdisc("audit", "claude", "--json")
    (skill,) = result.json["clients"][0]["skills"]
    assert (skill["id"], skill["state"], skill["shown_characters"]) == ("skill:long", "cut", 1_536)
    text = capdisc("audit", "claude").out
    assert "absent   1 skill" in text
    assert "shorten to 1,536 characters: skill:long" in text
    # Codex lists what is hidden from Claude Code.
    assert set(_states(capdisc("audit", "codex", "--json"))) == {"skill:long", "skill:hidden"}


def test_codex_cuts_all_evenly_and_then_leaves_out_the_last(capdisc, eight) -> None:
    client = capdisc("audit", "codex", "--budget", "600", "--json").json["clients"][0]
    assert client["unit"] == "tokens"
    assert client["states"]["cut"] == len(_TOPICS)
    shown = [skill["shown_characters"] for skill in client["skills"]]
    assert max(shown) - min(shown) <= 12
    assert client["takes"] <= 600
    tiny = _states(capdisc("audit", "codex", "--budget", "90", "--json"))
    assert tiny["skill:bakery"] == "dropped"
    assert tiny["skill:volcano"] == "left-out"


def test_copilot_stops_at_the_first_skill_without_room(capdisc, eight) -> None:
    states = _states(capdisc("audit", "copilot", "--budget", "1200", "--json"))
    assert list(states.values()) == ["full"] * 2 + ["left-out"] * 6


def test_a_client_without_budget_lists_everything(capdisc, eight) -> None:
    for client in ("gemini", "opencode", "cursor"):
        assert set(_states(capdisc("audit", client, "--json")).values()) == {"full"}


def test_without_a_client_each_has_a_line(capdisc, eight) -> None:
    lines = capdisc("audit").out.splitlines()
    for client in CLIENT_LISTINGS:
        assert any(line.split()[:1] == [client] for line in lines)
    assert "  see what is cut and dropped: capdisc audit claude" in lines


def test_every_figure_has_a_source_and_a_date() -> None:
    for rule in CLIENT_LISTINGS.values():
        assert rule.sources
        assert all(
            source.figure and source.source and source.date >= "2026" for source in rule.sources
        )


@pytest.fixture
def rivals(capdisc, hermetic, write_skill) -> Path:
    """Two skills that want the same requests, a copy of one of them, and others."""
    folder = hermetic / "skills"
    for topic in _TOPICS:
        write_skill(folder, topic, f"Explains the {topic} to a child. Not for grown-ups.")
    body = " ".join(f"Step {number} of the work." for number in range(60))
    changelog = "Write a changelog with release notes from the git commits of a version."
    write_skill(folder, "changelog-writer", changelog, body)
    write_skill(
        folder,
        "release-notes",
        "Write release notes and a changelog from git commits of a version.",
    )
    write_skill(folder, "changelog-writer-official", changelog, body)
    capdisc("index", "skills")
    return folder


def test_pairs_that_win_one_request_are_named_with_it(capdisc, rivals) -> None:
    report = capdisc("audit", "--json").json
    (overlap,) = report["overlaps"]
    assert {overlap["first"], overlap["second"]} == {
        "skill:changelog-writer",
        "skill:release-notes",
    }
    hits = capdisc("search", overlap["request"], "--json").json["hits"]
    assert {hit["id"] for hit in hits[:2]} == {overlap["first"], overlap["second"]}
    assert report["copies"] == [["skill:changelog-writer", "skill:changelog-writer-official"]]
    text = capdisc("audit").out
    assert "overlaps: 1 pair\n" in text
    assert overlap["request"] in text


def test_what_does_not_say_what_it_is_not_for_is_listed_where_it_overlaps(capdisc, rivals) -> None:
    report = capdisc("audit", "--json").json
    assert report["without_exclusion"] == [
        "skill:changelog-writer",
        "skill:changelog-writer-official",
        "skill:release-notes",
    ]
    section = capdisc("audit").out.partition('no "do not use for"')[2]
    assert section.splitlines()[0] == ": 3 of 11 skills"
    assert "skill:changelog-writer\n" in section.partition("\n\n")[0]


@pytest.mark.parametrize(
    "text",
    [
        "Fills forms. Do not use for scanned pages.",
        "Fills forms. NOT for scanned pages.",
        "Fills forms. Don't use it when the page is scanned.",
        "Fills forms. For scans use ocr-pages instead.",
        "Fills forms. Skip this when the page is a scan.",
    ],
)
def test_a_description_says_in_many_ways_what_it_is_not_for(
    capdisc, hermetic, write_skill, text
) -> None:
    write_skill(hermetic / "skills", "forms", text)
    capdisc("index", "skills")
    assert capdisc("audit", "--json").json["without_exclusion"] == []


def test_a_field_can_say_what_a_skill_is_not_for(capdisc, hermetic, write_skill) -> None:
    path = write_skill(hermetic / "skills", "forms", "Fills forms.")
    path.write_text(path.read_text().replace("---\n\n", "not_for: scanned pages\n---\n\n"))
    capdisc("index", "skills")
    assert capdisc("audit", "--json").json["without_exclusion"] == []


def test_a_phrase_that_finds_other_skills_is_lost(capdisc, hermetic, write_skill) -> None:
    for name in ("send", "check", "print", "archive", "export"):
        write_skill(
            hermetic / "skills",
            f"{name}-invoices",
            f"Invoices: {name} invoices. {name} an invoice.",
        )
    path = write_skill(hermetic / "skills", "garden", "Plans a garden with trees and flowers.")
    phrases = "phrases:\n  - plan a garden with flowers\n  - invoices\n"
    path.write_text(path.read_text().replace("---\n\n", f"{phrases}---\n\n"))
    capdisc("index", "skills")
    report = capdisc("audit", "--json").json["phrases"]
    assert (report["skills"], report["phrases"], report["tried"]) == (1, 2, 2)
    ranks = {lost["phrase"]: lost["rank"] for lost in report["lost"]}
    assert set(ranks) == {"invoices"}
    assert "skill:garden  invoices" in capdisc("audit").out


def test_what_was_asked_to_be_an_error_decides_the_exit_status(capdisc, rivals) -> None:
    assert capdisc("audit").code == 0
    failed = capdisc("audit", "--error", "overlap,cut")
    assert (failed.code, failed.err) == (1, "error: overlap 1\n")
    assert capdisc("audit", "--error", "dropped", "--error", "cut").code == 0
    report = capdisc("audit", "--error", "copy", "--json")
    assert (report.code, report.json["errors"]) == (1, {"copy": 1})
    unlisted = capdisc("audit", "vscode")
    assert unlisted.code == 2 and "nothing is known of how vscode lists skills" in unlisted.err
    assert "did you mean" not in unlisted.err
    unknown = capdisc("audit", "--error", "overlaps")
    assert unknown.code == 2
    assert "one of: dropped, cut, overlap, copy, no-exclusion, phrase" in unknown.err


def test_markdown_shows_no_text_as_markup(capdisc, hermetic, write_skill) -> None:
    text = "Write a changelog with release notes from the git commits of a version."
    path = write_skill(hermetic / "skills", "a_changelog", text)
    phrase = "phrases: ['write a changelog | *release* <b>notes</b>']\n"
    path.write_text(path.read_text().replace("---\n\n", f"{phrase}---\n\n"))
    write_skill(hermetic / "skills", "release_notes", f"{text} Of any.")
    for topic in _TOPICS:
        write_skill(hermetic / "skills", topic, f"Explains the {topic}.")
    capdisc("index", "skills")
    markdown = capdisc("audit", "claude", "--format", "markdown").out
    assert markdown.startswith("## 10 skills\n")
    assert "| write a changelog \\| \\*release\\* \\<b\\>notes\\</b\\> |" in markdown
    assert "| skill:a\\_changelog | skill:release\\_notes |" in markdown


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        (("vim",), 2, "one of: claude, codex"),
        (("--budget", "500"), 2, "capdisc audit claude --budget 500"),
        (("--format", "html"), 2, "one of: text, markdown, json"),
        (("--html", "-", "--format", "markdown"), 2, "capdisc audit --html skills.html"),
        (("claude", "--html", "page.html", "--fix"), 2, "leave out one of them"),
        (("--html", "missing/page.html"), 3, "a folder that exists"),
    ],
)
def test_a_wrong_option_names_the_right_one(capdisc, eight, options, code, hint) -> None:
    result = capdisc("audit", *options)
    assert (result.code, result.out) == (code, "")
    assert hint in result.err


def test_an_index_without_skills_names_the_kinds_that_it_has(capdisc, hermetic) -> None:
    folder = hermetic / "tools" / "lamp"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text(
        "name: lamp\nkind: tool\ndescription: Turns on the lamp.\n"
    )
    capdisc("index", "tools")
    empty = capdisc("audit")
    assert (empty.code, empty.out) == (1, "")
    assert "capdisc audit --kind tool" in empty.err
    assert capdisc("audit", "--kind", "tool").out.startswith("1 capability\n")


def test_a_short_list_names_what_was_left_out(capdisc, eight) -> None:
    text = capdisc("audit", "claude", "-k", "3").out
    assert "and 5 more (-k 0)" in text
    assert "more (-k 0)" not in capdisc("audit", "claude", "-k", "0").out
