"""A walk through the fifth design, dynamic tool injection: one discovery tool, hints, memory, risk."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def workspace(open_design):
    return open_design("cms")


def test_its_index_of_tools_is_valid_as_it_is(capdisc, workspace) -> None:
    """phrases, relatedTools, riskLevel, requiresConfirmation and extraction are keys of a manifest,
    and validation at startup has nothing to say (S271, S277, S279, S280)."""
    done = capdisc("validate")
    assert (done.code, done.out) == (0, "")
    assert "0 findings" in done.err
    manifest = workspace / "tools" / "CAPABILITY.yaml"
    manifest.write_text(manifest.read_text().replace("[cms_getPageSections]", "[cms_getSecton]"))
    assert "cms_getSecton" in capdisc("validate").out


def test_one_tool_finds_the_others_with_their_hints(workspace, ask) -> None:
    """tool_search answers with tools, their hints, workflow guidance of their categories and an
    instruction (S249, S265, S278)."""
    answer = ask("tool_search", query="find image")
    assert answer["tools"][0] == {
        "name": "cms_searchImages",
        "description": "Semantic search for images by description",
        "hint": "Scores closer to 0 are better.",
    }
    assert "**Image Workflow:**\n1. ALWAYS check existing" in answer["workflowGuidance"]
    assert "**Post Workflow:**" not in answer["workflowGuidance"]
    assert "search again" in answer["instruction"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("find image", {"cms_searchImages"}),
        (
            "create page with sections and images",
            {"cms_createPage", "cms_addSectionToPage", "cms_searchImages"},
        ),
        ("update navigation menu", {"cms_updateNavigation"}),
        ("znajdź zdjęcie bohatera", {"cms_searchImages"}),
        ("Erstelle eine neue Seite", {"cms_createPage"}),
    ],
)
def test_a_request_in_any_language_finds_its_tools(workspace, ask, query, expected) -> None:
    """A simple query finds few, a complex one more, in English, Polish and German (S250, S264)."""
    found = [tool["name"] for tool in ask("tool_search", query=query, limit=6)["tools"]]
    assert expected <= set(found)
    if len(expected) == 1:
        assert found[0] in expected


@pytest.mark.parametrize("query", ["What is the capital of Peru?", "book a flight to Mars"])
def test_what_needs_no_tool_gets_none(workspace, ask, query) -> None:
    """A question of general knowledge is answered without tools, and so is a need that nothing meets
    (S255)."""
    answer = ask("tool_search", query=query)
    assert (answer["tools"], answer["workflowGuidance"]) == ([], "")
    assert "Nothing here fits" in answer["instruction"]


@pytest.mark.parametrize("tool", ["tool_search", "discover_capabilities", "search_tool"])
def test_what_meaning_alone_found_and_hardly_fits_is_marked(capdisc, workspace, tool) -> None:
    """The answer that the agent reads says that no word is mentioned (S255, S316)."""
    answer = capdisc("call", tool, '{"query": "undo my last edit"}').json
    assert "may not fit" in answer["instruction"]
    sure = capdisc("call", tool, '{"query": "znajdź zdjęcie bohatera"}').json
    assert "may not fit" not in sure.get("instruction", "")


def test_the_prompt_starts_small_and_grows_with_the_request(capdisc, workspace) -> None:
    """At the start there is a map and no definition; a request brings its tools and the guidance of
    their categories (S249, S302)."""
    start = capdisc("render", "--style", "tools")
    assert "capdisc search" in start.out
    assert "Workflow" not in start.out
    found = capdisc("render", "add an image to a section")
    assert "**Image Workflow:**" in found.out
    assert "tool:cms_updateSectionImage" in found.out
    static = capdisc("tools", "--static", "--format", "openai").out
    offered = capdisc("tools", "find image", "-k", "2", "--format", "openai").out
    assert len(offered) < len(static) / 2


def test_tools_of_earlier_turns_stay_and_entities_are_kept(capdisc, workspace) -> None:
    """discoveredTools and usedTools last from turn to turn; extraction keeps entities, also where
    their type stands in the result (S283, S284, S297, S299)."""
    capdisc("session", "new", "s1")
    bridge = capdisc("tools", "--names", "--session", "s1").out.split()
    capdisc("tools", "find image", "--session", "s1", "-k", "1")
    capdisc("tools", "create a new page", "--session", "s1", "-k", "1")
    offered = capdisc("tools", "--names", "--session", "s1").out.split()
    assert offered == [*bridge, "cms_searchImages", "cms_createPage"]
    images = {"results": [{"id": "img-1", "filename": "hero.jpg"}]}
    resource = {"type": "post", "matches": [{"id": "p7", "slug": "launch"}]}
    page = {"id": "p1", "name": "About"}
    for tool, result in (
        ("cms_searchImages", images),
        ("cms_findResource", resource),
        ("cms_createPage", page),
    ):
        done = capdisc("session", "observe", "s1", tool, stdin=json.dumps(result))
        assert done.code == 0
    capdisc("session", "use", "s1", "cms_searchImages", "--ok")
    memory = capdisc("session", "prompt", "s1").out
    assert "- image: hero.jpg (img-1)" in memory
    assert "- post: launch (p7)" in memory
    assert "- page: About (p1)" in memory
    assert "cms_searchImages [used 1, last ok]" in memory
    shown = capdisc("session", "show", "s1", "--json").json
    assert list(shown["discovered"]) == ["tool:cms_searchImages", "tool:cms_createPage"]
    assert list(shown["used"]) == ["tool:cms_searchImages"]
    assert "hero.jpg" in capdisc("render", "attach the hero image", "--session", "s1").out


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


def test_related_tools_come_along(capdisc, workspace) -> None:
    """relatedTools are found beside their tool where one asks for them (S268, S279)."""
    plain = capdisc("search", "attach image", "-k", "1", "--ids").out.split()
    hits = capdisc("search", "attach image", "-k", "1", "--expand", "2", "--json").json["hits"]
    assert plain == ["tool:cms_updateSectionImage"]
    assert {hit["via"] for hit in hits[1:]} == {"tool:cms_updateSectionImage"}


def test_risk_bounds_what_is_offered_and_what_runs(capdisc, workspace) -> None:
    """safe, moderate and destructive bound a search, and what requires confirmation runs only after
    a yes (S280, S281, S282)."""
    query = "delete a page"
    assert capdisc("search", query, "--ids", "-k", "1").out == "tool:cms_deletePage\n"
    for risk in ("safe", "moderate"):
        assert "cms_deletePage" not in capdisc("search", query, "--max-risk", risk, "--ids").out
    assert "cms_createPage" not in capdisc("search", query, "--max-risk", "safe", "--ids").out
    assert capdisc("list", "--risk", "destructive", "--ids").out == "tool:cms_deletePage\n"
    refused = capdisc("run", "cms_deletePage", '{"slug": "old"}')
    assert (refused.code, refused.out) == (5, "")
    assert "asks for confirmation" in refused.err
    done = capdisc("run", "cms_deletePage", '{"slug": "old"}', "--yes")
    assert (done.code, done.out) == (0, "page old is gone\n")
