"""A walk through the fourth design, a registry of tools over tables and pages."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("pbj")


def call(capdisc, tool: str, **arguments):
    """The answer of a tool; a notice says which of its words stand for others of capdisc."""
    done = capdisc("call", tool, json.dumps(arguments))
    assert done.code == 0, done.err
    return done.json


def names(answer) -> set[str]:
    return {row["table"] for row in answer["tables"]}


def test_the_registry_is_printed_for_function_calling(capdisc, workspace) -> None:
    """Every tool has a name, a description and parameters, in the form of a provider (S218 to
    S222, S232)."""
    offered = capdisc("tools", "--all", "--format", "openai").json
    functions = {entry["function"]["name"]: entry["function"] for entry in offered}
    assert {entry["type"] for entry in offered} == {"function"}
    assert {
        "get_table_catalog", "get_table_by_id", "get_table_info", "get_tables_by_category",
        "get_tables_by_keyword", "get_table_rows", "search_table_values", "get_compatibility_tables",
        "get_measurement_tables", "search_content", "search_by_keywords", "get_page_by_number",
        "get_available_keywords", "get_data_overview",
    } <= functions.keys()  # fmt: skip
    parameters = functions["search_content"]["parameters"]
    assert parameters["required"] == ["query"]
    assert {"all", "pages", "tables", "titles"} <= set(
        parameters["properties"]["search_type"]["enum"]
    )
    assert all(function["description"] for function in functions.values())


def test_pitchfork_tools_read_tables(capdisc, workspace) -> None:
    """The nine tools of tables, with table_id, criteria and search_term (S223, S224, S242)."""
    assert names(call(capdisc, "get_table_catalog")) == {
        "peanut_butter_compatibility",
        "nutrition_measurement",
        "bread_prices",
    }
    whole = call(capdisc, "get_table_by_id", table_id="peanut_butter_compatibility")
    assert (len(whole["rows"]), whole["is_complete"]) == (5, True)
    info = call(capdisc, "get_table_info", table_id="table:nutrition_measurement")
    assert info["column_names"] == ["food", "calories", "protein_grams"]
    by_category = call(capdisc, "get_tables_by_category", category="compatibility")
    assert names(by_category) == {"peanut_butter_compatibility"}
    by_keyword = call(capdisc, "get_tables_by_keyword", keyword="peanut")
    assert names(by_keyword) == {"peanut_butter_compatibility"}
    rows = call(
        capdisc,
        "get_table_rows",
        table_id="peanut_butter_compatibility",
        criteria={"compatible": "no"},
    )
    assert [row["ingredient"] for row in rows["rows"]] == ["olive oil", "pickles"]
    values = call(
        capdisc,
        "search_table_values",
        table_id="peanut_butter_compatibility",
        search_term="vinegar",
    )
    assert values["matches"][0]["row"]["ingredient"] == "pickles"
    assert names(call(capdisc, "get_compatibility_tables")) == {"peanut_butter_compatibility"}
    assert names(call(capdisc, "get_measurement_tables")) == {"nutrition_measurement"}


def test_sickle_tools_search_pages(capdisc, workspace) -> None:
    """search_content, search_by_keywords and get_page_by_number (S226, S227)."""
    pages = call(capdisc, "search_content", query="peanut butter", search_type="pages", limit=5)
    assert pages["results"][0]["id"] == "section:sandwich_guide.peanut-butter-compatibility"
    assert {result["kind"] for result in pages["results"]} <= {"section", "document"}
    tables = call(capdisc, "search_content", query="peanut butter", search_type="tables")
    assert {result["kind"] for result in tables["results"]} == {"table"}
    found = call(capdisc, "search_by_keywords", keywords=["pectin", "lemon"], limit=3)
    assert found["results"][0]["matched_keywords"] == ["pectin", "lemon"]
    page = call(capdisc, "get_page_by_number", page_number=2, doc_id="sandwich_guide")
    assert (page["section"], page["pages"]) == ("Peanut butter compatibility", 3)


def test_utility_tools_describe_the_whole(capdisc, workspace) -> None:
    """get_available_keywords and get_data_overview (S228)."""
    keywords = call(capdisc, "get_available_keywords")["keywords"]
    assert {"peanut", "pectin", "bread"} <= {row["keyword"] for row in keywords}
    overview = call(capdisc, "get_data_overview")
    assert (overview["tables"], overview["documents"], overview["rows"]) == (3, 2, 11)


QUESTION = "What are the compatibility issues with peanut butter?"


def test_the_question_chooses_the_tools(capdisc, workspace) -> None:
    """A question about tables and pages is offered the tools that read them (S230, S231)."""
    offered = capdisc("tools", QUESTION, "--names").out.split()
    assert {"get_compatibility_tables", "get_table_rows", "search_content"} <= set(offered)
    assert "list_apis" not in offered


def test_the_calls_of_a_model_are_answered_in_their_order(capdisc, workspace) -> None:
    """The document's flow: get_compatibility_tables, then search_content; a call that fails leaves
    the others, and each answer names its tool (S233, S237, S245)."""
    calls = [
        {"name": "get_compatibility_tables", "arguments": {}},
        {"name": "search_content", "arguments": {"query": "peanut butter compatibility"}},
        {"name": "get_table_rows", "arguments": {}},
    ]
    lines = "\n".join(
        json.dumps({"tool": call["name"], "arguments": call["arguments"]}) for call in calls
    )
    done = capdisc("call", "--batch", "-", stdin=lines)
    assert done.code == 1
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert [(answer["tool"], answer["status"]) for answer in answers] == [
        ("get_compatibility_tables", "success"),
        ("search_content", "success"),
        ("get_table_rows", "error"),
    ]
    assert answers[0]["results"]["tables"][0]["table"] == "peanut_butter_compatibility"
    contents = answers[1]["results"]
    assert contents["results"][0]["id"] == "table:data.peanut_butter_compatibility"
    assert contents["confidence"] > 0.8


def test_a_question_gets_a_context_with_its_sources(capdisc, workspace) -> None:
    """`query` of the document without its model: what fits, from where, and how surely (S233)."""
    found = capdisc("search", QUESTION, "--json").json
    ids = [hit["id"] for hit in found["hits"][:3]]
    assert "table:data.peanut_butter_compatibility" in ids
    assert "section:sandwich_guide.peanut-butter-compatibility" in ids
    assert found["confidence"] > 0.5
    context = capdisc("render", QUESTION).out
    assert "pages/sandwich_guide.md" in context
    assert "oil separates" in context
