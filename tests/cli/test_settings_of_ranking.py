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
