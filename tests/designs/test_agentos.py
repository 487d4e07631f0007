"""A walk through the third design: three tiers within budgets, manifests, a graph, a meta-tool."""

from __future__ import annotations

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("agentos")


QUERY = "Search the web for AI news and summarize it"


def test_tier_0_is_a_map_of_categories(capdisc, workspace) -> None:
    """Categories with some names and their number, and how to get more (S127, S131, S132)."""
    text = capdisc("render", "--tier", "0").out
    assert "- communication: discord, slack, telegram, whatsapp (4)" in text
    assert "- information: news-search, web-browser, web-search (3)" in text
    assert "- developer-tools: cli-executor, github (2)" in text
    assert "capdisc search" in text


def test_tier_1_and_2_hold_what_fits_within_their_budgets(capdisc, workspace, monkeypatch) -> None:
    """At most five summaries and two details, each tier within its budget, the whole far below a
    dump (S129, S134, S135, S139, S141, S144)."""
    facts = capdisc("render", QUERY, "--json").json
    estimate = facts["tokenEstimate"]
    assert estimate["tier0"] <= 200
    assert estimate["tier1"] <= 800
    assert estimate["tier2"] <= 2000
    assert estimate["total"] == facts["tokens"]
    assert facts["tokens"] < 1850
    text = capdisc("render", QUERY).out
    summaries, _, details = text.partition("--- Detailed")
    assert summaries.partition("Relevant")[2].count("\n- ") <= 5
    assert "skill:summarizer: Summarize long documents into key points." in summaries
    assert (
        "tool:web-browser: Browse a URL and extract content. Params: url, selector." in summaries
    )
    assert details.count(">>> tool:") == 2
    for line in (
        "Category: information",
        "query (string, required): The search query",
        "max_results (number): Maximum results to return (default: 5)",
        'Type of search [search|news|images] (default: "search")',
        "Required secrets: SERPER_API_KEY",
    ):
        assert line in details


def test_manifests_of_every_kind_become_one_form(capdisc, workspace) -> None:
    """Tools, skills, extensions and channels have an id of kind and name; a channel is
    communication, and a skill has its title from its name (S148 to S151, S154)."""
    rows = capdisc("list", "--json").json["capabilities"]
    assert {row["id"]: row["category"] for row in rows if row["kind"] == "channel"} == {
        f"channel:{name}": "communication" for name in ("discord", "slack", "telegram", "whatsapp")
    }
    assert {"extension:giphy", "tool:web-browser", "skill:github"} <= {row["id"] for row in rows}
    github = capdisc("show", "github", "--json").json["capabilities"][0]
    assert github["title"] == "Github"
    search = capdisc("show", "web-search", "--json").json["capabilities"][0]
    assert search["title"] == "Web Search"
    assert search["schema"]["properties"]["search_type"]["enum"] == ["search", "news", "images"]
    assert "five key points" in capdisc("show", "summarizer").out


def test_what_is_not_available_is_marked_and_left_out_on_request(
    capdisc, workspace, monkeypatch
) -> None:
    """A missing secret and `available: false` are marked; onlyAvailable leaves them out (S137,
    S156)."""
    pictures = "find an animated picture"
    found = capdisc("search", pictures, "--json").json["hits"]
    assert [hit["id"] for hit in found][:1] == ["extension:giphy"]
    assert found[0]["available"] is False
    assert "giphy" not in capdisc("search", pictures, "--available").out
    tier_1 = ("render", "search the web", "--tier", "1")
    assert "[missing: SERPER_API_KEY]" in capdisc(*tier_1).out
    search = ("search", "search the web")
    assert "    missing: SERPER_API_KEY\n" in capdisc(*search).out
    assert capdisc(*search, "--json").json["hits"][0]["missing"] == ["SERPER_API_KEY"]
    monkeypatch.setenv("SERPER_API_KEY", "x")
    assert "missing" not in capdisc(*tier_1).out
    assert "missing" not in capdisc(*search).out


def test_edges_come_from_metadata_and_bring_what_is_needed(capdisc, workspace) -> None:
    """requiredTools, shared tags and a common category are edges with the weights of the document,
    and a search for issues brings the program that the skill needs (S177, S180, S182, S184)."""
    edges = capdisc("graph", "--json").json["edges"]
    found = {(edge["kind"], edge["source"], edge["target"]): edge["weight"] for edge in edges}
    assert found["REQUIRES", "skill:github", "tool:cli-executor"] == 1.0
    assert found["TAGGED_WITH", "tool:news-search", "tool:web-search"] == 0.6
    assert found["SAME_CATEGORY", "tool:web-browser", "tool:web-search"] == 0.1
    hits = capdisc("search", "list github issues", "--json").json["hits"]
    assert [(hit["id"], hit["via"]) for hit in hits[:2]] == [
        ("skill:github", None),
        ("tool:cli-executor", "skill:github"),
    ]
    alone = capdisc("search", "list github issues", "--mode", "no-graph", "--json").json["hits"]
    assert not any(hit["via"] for hit in alone)


def test_the_meta_tool_searches_actively(capdisc, workspace, ask) -> None:
    """discover_capabilities takes query and kind, and is always offered (S193, S194)."""
    answer = ask("discover_capabilities", query="send a message on Discord", kind="channel")
    assert answer["capabilities"][0]["id"] == "channel:discord"
    assert answer["totalIndexed"] == 11
    assert {entry["kind"] for entry in answer["capabilities"]} == {"channel"}
    assert "discover_capabilities" in capdisc("tools", "--all", "--names").out.split()


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


@pytest.mark.parametrize("query", ["send a message on Discord", "message", "send a message"])
def test_the_relevance_of_channels_is_graded(workspace, ask, query) -> None:
    """All channels send messages; their relevance differs, and falls with their rank (S193)."""
    found = ask("discover_capabilities", query=query, kind="channel")["capabilities"]
    shown = [entry["relevance"] for entry in found]
    assert len(shown) == 4
    assert shown == sorted(set(shown), reverse=True)


def test_only_what_was_discovered_is_offered_as_tools(capdisc, workspace) -> None:
    """listDiscoveredTools: the tools that fit and those that find the others (S197)."""
    offered = capdisc("tools", QUERY, "--names").out.split()
    assert {"discover_capabilities", "web-search", "news-search"} <= set(offered)
    assert "cli-executor" not in offered
    only = capdisc("tools", QUERY, "--only", "web-search", "--names").out.split()
    assert only == ["web-search"]


def test_the_settings_of_the_document_hold_and_are_overridden(capdisc, workspace) -> None:
    """tier1TopK, tier2TopK and the budgets come from the file, and an option wins (S192)."""
    settings = {row["name"]: row["value"] for row in capdisc("config", "--json").json["settings"]}
    assert (settings["tier1_top_k"], settings["tier2_top_k"], settings["graph_boost"]) == (
        5,
        2,
        0.15,
    )
    assert capdisc("render", QUERY, "--tier-top", "2=1").out.count(">>> tool:") == 1
    assert capdisc("render", QUERY, "--tier-budget", "2=20").out.count("Input Schema") == 0
    low = capdisc("render", QUERY, "--min-relevance", "0", "--tier-top", "1=8", "--tier", "1").out
    assert low.count("\n- ") > capdisc("render", QUERY, "--tier", "1").out.count("\n- ")


def test_the_index_follows_what_is_written_and_removed(capdisc, workspace) -> None:
    """A new manifest is found, a removed one is not, and the statistics follow (S207, S209)."""
    before = capdisc("call", "get_data_overview", "{}").json
    assert (before["capabilityCount"], before["graphNodes"]) == (11, 11)
    folder = workspace / ".wunderland" / "capabilities" / "fold-crane"
    folder.mkdir()
    manifest = folder / "CAPABILITY.yaml"
    manifest.write_text("kind: tool\nname: fold-crane\ndescription: Folds a paper crane.\n")
    assert capdisc("search", "fold a paper crane", "--ids").out == "tool:fold-crane\n"
    after = capdisc("call", "get_data_overview", "{}").json
    assert after["capabilityCount"] == 12
    assert after["indexVersion"] > before["indexVersion"]
    manifest.unlink()
    assert "fold-crane" not in capdisc("search", "fold a paper crane", "--ids").out


def test_folders_of_the_environment_are_scanned(capdisc, workspace, hermetic, monkeypatch) -> None:
    """$WUNDERLAND_CAPABILITY_DIRS names further folders, separated by colons (S157, S158)."""
    folder = hermetic / "more" / "fold-crane"
    folder.mkdir(parents=True)
    (folder / "CAPABILITY.yaml").write_text(
        "kind: tool\nname: fold-crane\ndescription: Folds a paper crane.\n"
    )
    monkeypatch.setenv("WUNDERLAND_CAPABILITY_DIRS", f"{hermetic / 'more'}:{hermetic / 'none'}")
    capdisc("index", "--quiet")
    assert capdisc("search", "fold a paper crane", "--ids").out == "tool:fold-crane\n"
