"""A walk through the third design: three tiers within budgets, manifests, a graph, a meta-tool."""

from __future__ import annotations

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("agentos")


@pytest.mark.parametrize("query", ["send a message on Discord", "search the web", "github"])
def test_relevance_means_the_same_in_a_search_and_to_the_agent(
    capdisc, workspace, ask, query
) -> None:
    """The number that discover_capabilities gives is that of `search --json` (S71, S193)."""
    found = ask("discover_capabilities", query=query)["capabilities"]
    hits = capdisc("search", query, "-k", "3", "--json").json["hits"]
    relevance = {entry["id"]: entry["relevance"] for entry in found}
    shown = {hit["id"]: round(hit["relevance"], 2) for hit in hits if hit["fits"]}
    assert relevance.items() >= shown.items() > set()
