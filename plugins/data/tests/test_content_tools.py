"""The tools that search content and list keywords and figures."""

import pytest

from capdisc_indexer.model.errors import UsageError


def test_content_is_searched_within_a_scope(ask) -> None:
    """Content is searched in pages, bodies, tables or titles (S226, S227)."""
    assert (
        ask("search_content", query="zanzibar", search_type="pages")["results"][0]["id"]
        == "section:handbook.s3"
    )
    assert (
        ask("search_content", query="zanzibar", search_type="body")["results"][0]["kind"]
        == "section"
    )
    tables = ask("search_content", query="albums", search_type="tables")["results"]
    assert {each["kind"] for each in tables} <= {"table", "database"}
    titles = ask("search_content", query="pictures", search_type="titles")["results"]
    assert {each["name"] for each in titles} == {"list_pictures", "crop_picture"}
    assert ask("search_content", query="zanzibar")["results"]


def test_another_scope_is_an_error(ask) -> None:
    """An unknown scope is a usage error that lists the known ones (S227)."""
    with pytest.raises(UsageError) as caught:
        ask("search_content", query="x", search_type="everything")
    assert "must be one of all, body, pages, tables, titles" in caught.value.message


def test_a_result_says_what_matched_and_where(ask) -> None:
    """A result names what matched, where, how well, and its context (S230)."""
    first = ask("search_content", query="zanzibar", search_type="pages")["results"][0]
    assert set(first) == {
        "id",
        "name",
        "kind",
        "match_type",
        "match_score",
        "matched_keywords",
        "context",
    }
    assert (first["match_type"], first["matched_keywords"]) == ("body", ["zanzibar"])


@pytest.mark.parametrize("keywords", [["artists", "albums"], "artists, albums"])
def test_keywords_are_searched_as_words(ask, keywords) -> None:
    """Keywords are a list or a comma-separated text, and each is matched (S226)."""
    found = ask("search_by_keywords", keywords=keywords, search_type="tables")
    assert found["results"][0]["matched_keywords"] == ["artists", "albums"]


def test_a_rare_word_outranks_a_common_one(ask) -> None:
    """A rare word outranks a common one; the design counts both alike (S229, S239)."""
    found = ask("search_by_keywords", keywords=["pet", "tame"])
    assert found["results"][0]["id"] == "operation:zoo.getPet"


def test_keywords_are_sorted_and_counted(ask) -> None:
    """Keywords are sorted with counts, and a prefix narrows them (S228)."""
    found = ask("get_available_keywords", limit=200)
    words = [each["keyword"] for each in found["keywords"]]
    assert words == sorted(words)
    assert {"keyword": "albums", "count": 2} in found["keywords"]
    assert [each["keyword"] for each in ask("view_keywords", prefix="alb")["keywords"]] == [
        "albums"
    ]


@pytest.mark.parametrize("name", ["get_data_overview", "getStats"])
def test_the_figures_of_the_index(ask, name) -> None:
    """The overview counts capabilities, graph, documents, tables and rows (S207, S228)."""
    found = ask(name)
    assert {"capabilityCount", "graphNodes", "graphEdges", "indexVersion"} <= set(found)
    assert (found["capabilityCount"], found["documents"], found["tables"], found["rows"]) == (
        25,
        2,
        4,
        43,
    )
