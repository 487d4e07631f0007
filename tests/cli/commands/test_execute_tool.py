"""call execute_tool: what its user agreed to is run, everything else is described."""

from __future__ import annotations

import json
import sys

import pytest

from capdisc.context import surroundings

WISH = json.dumps({"tool_name": "say-hello", "arguments": {}})


def test_few_tools_are_offered_and_one_of_them_searches(capdisc, catalogue) -> None:
    """The bridge is `search_tool` and `execute_tool`, and what the setting pins (S92, S93)."""
    assert capdisc("tools", "--names").out.split() == ["search_tool", "execute_tool"]


def test_nothing_runs_before_a_yes(capdisc, catalogue) -> None:
    """`execute_tool(tool_name, arguments)` gives the call, says why, and runs nothing (S108)."""
    answer = capdisc("call", "execute_tool", WISH)
    assert answer.json["executed"] is False
    assert answer.json["call"] == {"command": ["echo", "hello"]}
    assert "it has not been run before as it is now" in answer.err
    assert "capdisc run tool:say-hello" in answer.err


def test_what_is_agreed_to_is_executed(capdisc, catalogue, hermetic) -> None:
    """With --yes, or after a yes at the terminal, the output comes as JSON (S107, S108)."""
    answer = capdisc("call", "execute_tool", WISH, "--yes").json
    assert (answer["executed"], answer["tool"]) == (True, "tool:say-hello")
    assert answer["stdout"] == "hello\n"
    # A yes by option is not remembered.
    assert capdisc("call", "execute_tool", WISH).json["executed"] is False


def test_a_yes_at_the_terminal_holds_for_the_agent(capdisc, catalogue, monkeypatch) -> None:
    """The question is that of `capdisc run`; afterwards the call runs without one (S108)."""
    with monkeypatch.context() as patched:
        patched.setattr(surroundings, "is_terminal", lambda stream: stream is not sys.stdout)
        refused = capdisc("call", "execute_tool", WISH, stdin="n\n")
        assert refused.json["executed"] is False
        agreed = capdisc("call", "execute_tool", WISH, stdin="y\n")
        assert "Run it?" in agreed.err
        assert agreed.json["executed"] is True
    answer = capdisc("call", "execute_tool", WISH).json
    assert (answer["executed"], answer["stdout"]) == (True, "hello\n")


@pytest.mark.parametrize("field", ["hasSideEffects: true", "riskLevel: destructive"])
def test_what_is_asked_each_time_is_not_executed(capdisc, catalogue, field) -> None:
    """Side effects and risk need a yes for each call (S108, S281)."""
    catalogue("wipe", f"run: {{command: [echo, wiped]}}\n{field}\n")
    wish = json.dumps({"tool_name": "wipe", "arguments": {}})
    assert capdisc("call", "execute_tool", wish, "--yes").json["executed"] is True
    assert capdisc("call", "execute_tool", wish).json["executed"] is False
