"""What is unavailable, of little relevance, or raised by the graph, and the settings for it."""

from __future__ import annotations

import pytest

CHANNELS = """capabilities:
- {kind: channel, name: discord, category: communication, available: false,
   description: Send a message on Discord.}
- {kind: channel, name: slack, category: communication, description: Send a message on Slack.}
- {kind: channel, name: teams, category: communication, composedWith: [send-pager],
   description: Send a message on Microsoft Teams.}
- {kind: tool, name: send-pager, description: Send a page to who is on duty.}
- {kind: tool, name: bake-bread, description: Bakes bread from flour and water.}
"""


@pytest.fixture
def channels(capdisc, hermetic, monkeypatch) -> None:
    monkeypatch.setenv("CAPDISC_INDEX_DIR", str(hermetic / "index"))
    (hermetic / "channels").mkdir()
    (hermetic / "channels" / "CAPABILITY.yaml").write_text(CHANNELS)
    capdisc("index", "channels", "--quiet")


def test_what_is_not_available_is_marked_and_not_ranked_first(capdisc, channels) -> None:
    """`available: false` stands behind what comes near it, and every answer says so (S137)."""
    query = "Send a message on Discord"
    found = capdisc("search", query, "--ids").out.split()
    assert found[0] != "channel:discord"
    assert "channel:discord" in found
    assert "    not available: its file says so" in capdisc("search", query).out.splitlines()
    context = capdisc("render", query).out
    assert "[not available]" in context
    hits = capdisc("search", query, "--json").json["hits"]
    assert [hit["id"] for hit in hits if not hit["available"]] == ["channel:discord"]
    tools = capdisc("call", "discover_capabilities", f'{{"query": "{query}"}}').json
    available = {row["id"]: row["available"] for row in tools["capabilities"]}
    assert available["channel:discord"] is False
    # By its name it is still the answer.
    assert capdisc("search", "discord", "--ids").out.split()[0] == "channel:discord"
    assert capdisc("search", query, "--available", "--ids").out.split()[0] != "channel:discord"


def test_a_least_relevance_is_an_option_and_a_setting(capdisc, channels, monkeypatch) -> None:
    """Search, render, tools and discovery tools leave out hits of less relevance (S138)."""
    query = "send a page"
    every = capdisc("search", query, "--json").json["hits"]
    strong = [hit["id"] for hit in every if hit["relevance"] >= 0.9]
    assert strong and len(strong) < len(every)
    by_option = capdisc("search", query, "--ids", "--min-relevance", "0.9")
    assert by_option.out.split() == strong
    assert "of less relevance than 0.9 left out" in by_option.err
    monkeypatch.setenv("CAPDISC_MIN_RELEVANCE", "0.9")
    assert capdisc("search", query, "--ids").out.split() == strong
    found = capdisc("call", "discover_capabilities", f'{{"query": "{query}"}}').json
    assert [row["id"] for row in found["capabilities"]] == strong
    assert "bake-bread" not in capdisc("tools", query, "--names").out
    assert "teams" not in capdisc("render", query, "--tier", "1").out
    assert capdisc("search", query, "--ids", "--min-relevance", "0").out.split() == [
        hit["id"] for hit in every
    ]


def test_a_least_relevance_that_nothing_reaches_finds_nothing(capdisc, channels) -> None:
    """Exit status 1, and a notice that says how many hits there were (S138)."""
    nothing = capdisc("search", "bread and telegrams", "--min-relevance", "1")
    assert (nothing.code, nothing.out.strip()) == (1, "")
    assert "left out" in nothing.err
    assert capdisc("search", "bread", "--min-relevance", "2").code == 2


def test_the_share_of_the_graph_is_an_option_and_a_setting(capdisc, channels, monkeypatch) -> None:
    """Without a share, scores are those without the graph; a larger one raises more (S187)."""

    def scores(*flags: str) -> dict[str, float]:
        hits = capdisc("search", "send to teams", "--json", *flags).json["hits"]
        return {hit["id"]: hit["score"] for hit in hits}

    plain = scores("--mode", "no-graph")
    assert scores("--graph-boost", "0") == plain
    partner = "tool:send-pager"
    default, more = scores(), scores("--graph-boost", "0.4")
    assert plain[partner] < default[partner] < more[partner]
    monkeypatch.setenv("CAPDISC_GRAPH_BOOST", "0.4")
    assert scores() == more
    assert capdisc("search", "send", "--graph-boost", "1.5").code == 2
