"""search_tool: exact names, keywords, and all names."""

import pytest

from capdisc_indexer.tools.discovery_tools import summary
from case_rows import read_rows

SPELLINGS = "base_readQuery BASE_READQUERY base_readquery base-read-query baseReadQuery tool:base_readQuery"


@pytest.mark.parametrize(
    ("typed", "name"),
    read_rows(__file__, "a_name_in_any_spelling_is_exact"),
)
def test_a_name_in_any_spelling_is_exact(ask, typed, name) -> None:
    """Case, camel, snake and kebab spellings and ids are exact (S96, S125)."""
    found = ask("search_tool", query=typed)
    assert (found["match_type"], found["tool"]["name"]) == ("exact", name)


def test_an_exact_name_gives_full_documentation_with_typed_defaults(ask) -> None:
    """An exact match has full documentation, and parameters with typed defaults (S97, S115)."""
    tool = ask("search_tool", query="base_tableList")["tool"]
    assert {"name", "category", "description", "full_documentation", "parameters"} <= set(tool)
    assert tool["parameters"]["table"] == {
        "type": "string",
        "required": True,
        "description": "Which table.",
    }
    assert tool["parameters"]["top"]["default"] == 5
    assert "Lists the tables of a database." in tool["full_documentation"]


def test_an_empty_query_lists_all_names_sorted(ask) -> None:
    """An empty query lists all names, sorted and counted (S95, S125)."""
    found = ask("search_tool")
    assert found["match_type"] == "list_all"
    assert found["total_count"] == len(found["tools"]) == 25
    assert found["tools"] == sorted(found["tools"])
    assert {"tool:left.search", "tool:right.search"} <= set(found["tools"])


def test_keywords_give_ranked_summaries(ask) -> None:
    """Words in any order find a joined name (S94, S98, S100, S101, S106, S125)."""
    found = ask("search_tool", query="table list", limit=3)
    assert found["match_type"] == "approximate"
    assert found["results_count"] == len(found["tools"])
    first = found["tools"][0]
    assert set(first) == {"id", "name", "kind", "category", "summary", "score", "relevance"}
    assert (first["name"], first["summary"]) == (
        "base_tableList",
        "Lists the tables of a database.",
    )
    assert 0 <= first["relevance"] <= 1


def test_an_exact_name_wins_whatever_else_fits(ask) -> None:
    """A capability whose name equals the query is the answer (S99)."""
    assert ask("search_tool", query="churn")["tool"]["id"] == "term:churn"


def test_a_name_that_several_have_gives_all_of_them(ask) -> None:
    found = ask("search_tool", query="search")
    assert [each["id"] for each in found["tools"]] == ["tool:left.search", "tool:right.search"]


def test_one_letter_matches_nothing(ask) -> None:
    """A single letter matches nothing (S104)."""
    assert ask("search_tool", query="a")["tools"] == []


def test_typos_and_plurals_still_find(ask) -> None:
    """Typing errors and plurals still find the tool (S105, S117)."""
    assert (
        ask("search_tool", query="tabel lists of a databse")["tools"][0]["name"]
        == "base_tableList"
    )


def test_the_same_query_gives_the_same_answer(ask) -> None:
    """The same query gives the same answer (S103)."""
    assert ask("search_tool", query="pictures") == ask("search_tool", query="pictures")


def test_the_discovery_tools_are_documented_too(ask) -> None:
    """A discovery tool is found by its name with its parameters (S125)."""
    tool = ask("search_tool", query="get_table_rows")["tool"]
    assert tool["parameters"]["table"]["required"] is True
    assert tool["parameters"]["limit"]["default"] == 10


@pytest.mark.parametrize(
    ("description", "expected"),
    read_rows(__file__, "a_summary_is_the_first_line_that_says_something"),
)
def test_a_summary_is_the_first_line_that_says_something(description, expected) -> None:
    """A summary is the first sentence of the first line that is not a heading, cut on a word at 120
    characters (S106).
    """
    assert summary(description) == expected
