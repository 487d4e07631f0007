"""A walk through the fifth design, dynamic tool injection: one discovery tool, hints, memory, risk."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("cms")


def test_the_discovery_tool_records_what_it_found(capdisc, workspace) -> None:
    """A session may be named by an option or in the arguments; the next turn has the tools without
    a search (S249, S299)."""
    typed = '{"query": "find image", "limit": 1}'
    done = capdisc("call", "tool_search", typed, "--session", "s")
    assert "notice: s is a new session" in done.err
    assert done.out == capdisc("call", "tool_search", typed).out
    other = capdisc(
        "call", "tool_search", '{"query": "create a new page", "limit": 1, "session": "s"}'
    )
    assert (other.code, other.err) == (0, "")
    shown = capdisc("session", "show", "s", "--json").json
    assert list(shown["discovered"]) == ["tool:cms_searchImages", "tool:cms_createPage"]
    offered = capdisc("tools", "--session", "s", "--names").out.split()
    assert offered[-2:] == ["cms_searchImages", "cms_createPage"]
    for tool, query in (("discover_capabilities", "publish post"), ("search_tool", "cms_getPage")):
        call = json.dumps({"tool": tool, "arguments": {"query": query, "session": "s"}})
        assert capdisc("call", "--batch", "-", stdin=call).code == 0
    found = capdisc("session", "show", "s", "--json").json["discovered"]
    assert {"tool:cms_publishPost", "tool:cms_getPage"} <= set(found)
    loaded = ("--format", "anthropic", "--session", "s2")
    capdisc("call", "tool_search", typed, *loaded)
    assert "tool:cms_searchImages" in capdisc("session", "show", "s2").out


def test_a_turn_takes_two_commands(capdisc, workspace) -> None:
    """`session turn` searches, records, and prints the prompt with guidance and memory; execute_tool
    records the use and the entities of its result (S249, S283, S284, S297, S299)."""
    manifest = workspace / "tools" / "CAPABILITY.yaml"
    result = '{"results": [{"id": "img-1", "filename": "hero.jpg"}]}'
    text = manifest.read_text().replace(
        "  usageHint: Scores closer",
        f"  run: {{command: [echo, '{result}']}}\n  usageHint: Scores closer",
    )
    manifest.write_text(text)
    first = capdisc("session", "turn", "site", "find image")
    assert (first.code, "notice: site is a new session" in first.err) == (0, True)
    assert "**Image Workflow:**" in first.out
    assert "tool:cms_searchImages" in first.out
    assert "cms_searchImages" in first.err.partition("functions of this turn: ")[2]
    call = '{"tool_name": "cms_searchImages", "session": "site"}'
    assert capdisc("call", "execute_tool", call, "--yes").json["executed"] is True
    second = capdisc("session", "turn", "site", "create a new page", "--json").json
    assert (second["session"], second["turn"]) == ("site", 2)
    assert "- image: hero.jpg (img-1)" in second["prompt"]
    assert "cms_searchImages [used 1, last ok]" in second["prompt"]
    assert "tool:cms_createPage" in second["found"]
    assert {"execute_tool", "cms_searchImages", "cms_createPage"} <= {
        tool["name"] for tool in second["tools"]
    }
    talk = capdisc("session", "turn", "new-one", "What is the capital of Peru?")
    assert (talk.code, "nothing fits" in talk.err) == (0, True)
    assert capdisc("session", "list").out == "new-one\nsite\n"
    short = capdisc(
        "session", "turn", "site", "-", "--max-tokens", "150", "--json", stdin="find image"
    )
    assert 0 < short.json["tokens"] <= 150
