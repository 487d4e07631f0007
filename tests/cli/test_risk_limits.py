"""A limit on risk lets nothing through that nobody has judged."""

from __future__ import annotations

import json

import pytest

# In the words and keys of the design: safe, moderate and destructive.
CMS = """capabilities:
- {kind: tool, name: cms_listPages, description: Lists pages to wipe., riskLevel: safe}
- {kind: tool, name: cms_createPage, description: Makes a page to wipe., riskLevel: moderate}
- {kind: tool, name: cms_deletePage, description: Wipes a page., riskLevel: destructive}
- {kind: tool, name: cms_dropSite, description: Wipes a site., riskLevel: critical}
- {kind: tool, name: cms_odd, description: Wipes pages oddly., riskLevel: frobnicate}
- {kind: tool, name: cms_silent, description: Wipes pages silently.}
- {kind: document, name: wiping, description: How to wipe pages.}
"""


@pytest.fixture
def cms(capdisc, hermetic, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "cms").mkdir()
    (hermetic / "cms" / "CAPABILITY.yaml").write_text(CMS)
    capdisc("index", "cms", "--quiet")


@pytest.mark.parametrize(
    ("limit", "names"),
    [
        ("safe", {"cms_listPages"}),
        ("moderate", {"cms_listPages", "cms_createPage"}),
        (
            "destructive",
            {"cms_listPages", "cms_createPage", "cms_deletePage", "cms_odd", "cms_silent"},
        ),
    ],
)
def test_an_unknown_risk_counts_as_high(capdisc, cms, limit, names) -> None:
    """`safe`, `moderate` and `destructive` are low, medium and high; what declares another word
    or nothing counts as high, in each command that takes the limit (S280).
    """
    expected = {f"tool:{name}" for name in names} | {"document:wiping"}
    plain = {"safe": "low", "moderate": "medium", "destructive": "high"}[limit]
    for typed in (limit, plain):
        search = capdisc("search", "wipe pages", "--max-risk", typed, "--ids", "-k", "30").out
        assert set(search.split()) <= expected
        assert set(capdisc("list", "--max-risk", typed, "--ids").out.split()) == expected
        context = capdisc("render", "wipe pages", "--tier", "1", "--max-risk", typed).out
        assert "cms_dropSite" not in context
        assert ("cms_silent" in context) is (limit == "destructive")


def test_capabilities_are_listed_by_the_words_of_the_design(capdisc, cms) -> None:
    """`list --risk destructive` has what declares it and what nobody has judged (S282)."""
    listed = capdisc("list", "--risk", "destructive", "--ids").out.split()
    assert listed == ["tool:cms_deletePage", "tool:cms_odd", "tool:cms_silent"]
    assert capdisc("list", "--risk", "safe", "--ids").out.split() == [
        "document:wiping",
        "tool:cms_listPages",
    ]
    assert capdisc("list", "--risk", "dire").code == 2


def test_an_unknown_word_is_named_with_what_it_counts_as(capdisc, cms) -> None:
    """The finding names the words that there are (S280)."""
    out = capdisc("validate", "cms").out
    assert (
        "riskLevel is not one of low, medium, high, critical, safe, moderate, destructive" in out
    )
    assert "read as high" in out
    assert out.count("field-value") == 1
    assert capdisc("show", "cms_odd", "--json").json["capabilities"][0]["risk"] == "high"


def test_a_skill_with_an_unknown_risk_counts_as_high(
    capdisc, hermetic, write_skill, monkeypatch
) -> None:
    """The same rule holds for the field of a SKILL.md (S280)."""
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    write_skill(hermetic / "skills", "tidy", "Tidies up.\nriskLevel: safe")
    write_skill(hermetic / "skills", "burn", "Burns down.\nriskLevel: hellish")
    capdisc("index", "skills", "--quiet")
    assert capdisc("list", "--max-risk", "safe", "--ids").out == "skill:tidy\n"
    assert capdisc("list", "--risk", "high", "--ids").out == "skill:burn\n"


@pytest.mark.parametrize(
    "field", ["riskLevel: frobnicate", "requiresConfirmation: perhaps", "hasSideEffects: perhaps"]
)
def test_what_cannot_be_read_is_asked_about_each_time(
    capdisc, hermetic, monkeypatch, field
) -> None:
    """A run asks again where risk, side effects or confirmation say nothing readable, and
    `call execute_tool` refuses (S280, S281).
    """
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "tools").mkdir()
    (hermetic / "tools" / "CAPABILITY.yaml").write_text(
        "name: greet\nkind: tool\ndescription: Greets.\nrun: {command: [echo, hi]}\n" + field
    )
    capdisc("index", "tools", "--quiet")
    assert capdisc("run", "greet", "--yes").out == "hi\n"
    again = capdisc("run", "greet")
    assert (again.out, again.code) != ("hi\n", 0)
    arguments = json.dumps({"tool_name": "greet", "arguments": {}})
    assert "hi\n" not in capdisc("call", "execute_tool", arguments).out
