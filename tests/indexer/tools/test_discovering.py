"""discover_capabilities and tool_search."""

import pytest

from capdisc_indexer.model.errors import UsageError
from capdisc_indexer.tools.agent_tools import AGENT_TOOLS
from capdisc_indexer.tools.discovery_tools import (
    NO_GUIDANCE,
    NON_CALLABLE_KINDS,
    NOTHING_INSTRUCTION,
)


def test_discover_capabilities_answers_in_exactly_its_form(ask) -> None:
    """The answer has nine keys, the machine name and rounded relevance (S193, S194)."""
    found = ask("discover_capabilities", query="erase a whole disk")
    assert set(found) == {"capabilities", "totalIndexed"}
    assert found["totalIndexed"] == 25
    first = found["capabilities"][0]
    assert list(first) == [
        "id",
        "name",
        "kind",
        "description",
        "category",
        "relevance",
        "available",
    ]
    assert (first["id"], first["name"], first["available"]) == (
        "tool:wipe_disk",
        "wipe_disk",
        False,
    )
    assert first["relevance"] == round(first["relevance"], 2) > 0


def test_discover_capabilities_filters_by_kind_and_category(ask) -> None:
    """discover_capabilities filters by kind and category (S193)."""
    found = ask(
        "discover_capabilities", query="artists and albums", kind="table", category="music"
    )
    assert {each["id"] for each in found["capabilities"]} <= {
        "table:music.artists",
        "table:music.albums",
    }
    assert found["capabilities"]
    assert ask("discover_capabilities", query="albums", kind="any") == ask(
        "discover_capabilities", query="albums"
    )


def test_an_unknown_kind_is_told_with_those_that_there_are(ask) -> None:
    """An unknown kind is a usage error that lists the known ones (S195)."""
    with pytest.raises(UsageError) as caught:
        ask("discover_capabilities", query="albums", kind="song")
    assert "table" in caught.value.hint


def test_nonsense_finds_nothing(ask) -> None:
    assert ask("discover_capabilities", query="qqxzv wkrtl")["capabilities"] == []


def test_tool_search_gives_tools_guidance_and_what_to_do_next(ask) -> None:
    """Tools have name, description and hint; guidance comes once (S249, S250, S289, S290)."""
    found = ask("tool_search", query="crop or list pictures", limit=2)
    assert set(found) == {"tools", "workflowGuidance", "instruction"}
    assert {each["name"] for each in found["tools"]} == {"list_pictures", "crop_picture"}
    assert all(set(each) == {"name", "description", "hint"} for each in found["tools"])
    assert (
        found["workflowGuidance"]
        == "Ask which folder is meant.\n\nShow a picture before you use it."
    )


def test_tool_search_has_a_default_guidance_and_says_when_nothing_fits(ask) -> None:
    """tool_search has default guidance, and an instruction where nothing fits (S290)."""
    assert (
        ask("tool_search", query="erase a whole disk", limit=1)["workflowGuidance"] == NO_GUIDANCE
    )
    assert ask("tool_search", query="qqxzv wkrtl") == {
        "tools": [],
        "workflowGuidance": "",
        "instruction": NOTHING_INSTRUCTION,
    }


def test_tool_search_names_what_can_be_called_and_two_of_a_name_by_their_ids(ask) -> None:
    found = ask("tool_search", query="search the left or the right shelf", limit=3)
    assert {"tool:left.search", "tool:right.search"} <= {each["name"] for each in found["tools"]}
    tables = ask("tool_search", query="long playing records of artists")
    assert "albums" not in [each["name"] for each in tables["tools"]]


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
