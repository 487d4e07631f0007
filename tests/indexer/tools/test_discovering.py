"""The searches under their five names, and the summary that they give."""

import pytest

from capdisc_indexer.tools.agent_tools import AGENT_TOOLS
from capdisc_indexer.tools.discovery_tools import NON_CALLABLE_KINDS, summary
from case_rows import read_rows


@pytest.mark.parametrize("query", ["crop or list pictures", "erase a whole disk"])
def test_a_search_has_one_order_and_one_relevance_under_all_five_names(ask, desk, query) -> None:
    limit = 5
    (_, rows), *others = [
        (name, ask(name, query=query, **more)[member])
        for name, member, more in (
            ("discover_capabilities", "capabilities", {}),
            ("search_tool", "tools", {"limit": limit}),
            ("search_all", "results", {"limit": limit}),
        )
    ]
    expected = [(row["id"], row["relevance"]) for row in rows]
    assert expected
    for name, found in others:
        assert [(row["id"], row["relevance"]) for row in found] == expected, name
    agent = AGENT_TOOLS["search_capabilities"]
    lines = agent.answer(desk, {"query": query, "limit": limit})["text"].splitlines()
    ids = [identifier for identifier, _ in expected]
    assert [line.partition(": ")[0] for line in lines[: len(ids)]] == ids
    # This one leaves out what is read rather than called.
    called = [row for row in rows if row["kind"] not in NON_CALLABLE_KINDS]
    names = [row["name"] for row in ask("tool_search", query=query, limit=limit)["tools"]]
    assert names[: len(called)] == [row["name"] for row in called]


@pytest.mark.parametrize(("description", "expected"), read_rows(__file__, "summaries"))
def test_a_summary_is_the_first_line_that_says_something(description, expected) -> None:
    """A summary is the first sentence of the first line that is not a heading, cut on a word at 120
    characters (S106).
    """
    assert summary(description) == expected
